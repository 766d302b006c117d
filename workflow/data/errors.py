"""Errors of datasets and results: they say what is wrong, where, and what to do."""


class DataError(ValueError):
    """A file or an array does not hold what its dataset promises."""

    def __init__(self, message: str) -> None:
        super().__init__(visible(message))


class FetchError(RuntimeError):
    """No source yielded a file with the right checksum; the message names every source tried."""


class SourceError(RuntimeError):
    """One source did not yield a file; another may, so this does not reach the user alone."""


def visible(text: str) -> str:
    """Spell out what could move the cursor, colour the screen or hide: texts come from files."""
    return "".join(
        sign if sign.isprintable() or sign == "\n" else repr(sign)[1:-1] for sign in text
    )
