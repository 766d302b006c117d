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
``errors``             what is wrong, where, and what to do
=====================  ==========================================================================

Only the errors are imported here, so that a stage that only reads prepared data depends on nothing
else.
"""

from workflow.data.errors import DataError, FetchError, SourceError

__all__ = ["DataError", "FetchError", "SourceError"]
