"""Errors of datasets and results: they say what is wrong, where, and what to do."""


class DataError(ValueError):
    """A file or an array does not hold what its dataset promises."""


class FetchError(RuntimeError):
    """No source yielded a file with the right checksum; the message names every source tried."""


class SourceError(RuntimeError):
    """One source did not yield a file; another may, so this does not reach the user alone."""
