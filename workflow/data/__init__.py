"""Data sets: embedded and fetched, prepared to one memory-mappable form.

=====================  ==========================================================================
module                 holds
=====================  ==========================================================================
``catalogue``          the table of datasets; ``prepare(name, destination)``
``mnist``, ``awa``, …  the parser of each, imported only to prepare its dataset
``prepared``           the prepared form; ``load_prepared``, ``write_prepared``
``splits``, ``views``  train, tune and test rows; lazily read, optionally standardised rows
``audit``              counts of what leaks from training into test rows
``sources``, ``fetch`` where the files are, and how they are had and verified
                       (over https or out of packages by ``download``)
``own``                datasets of one's own
=====================  ==========================================================================

Nothing is imported here, so that a stage that only reads prepared data depends on nothing else.
The errors below say what is wrong, where, and what to do.
"""


class DataError(ValueError):
    """A file or an array does not hold what its dataset promises."""


class FetchError(RuntimeError):
    """No source yielded a file with the right checksum; the message names every source tried."""


class SourceError(RuntimeError):
    """One source did not yield a file; another may, so this does not reach the user alone."""
