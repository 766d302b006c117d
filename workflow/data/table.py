"""The table of datasets: what each holds, under which terms, and which could not be had."""

from collections.abc import Iterable, Mapping
from os import PathLike

from rnca._core.files import replacing
from workflow.data.prepared import Prepared


def write_data_table(
    path: str | PathLike[str], prepared: Iterable[Prepared], not_had: Mapping[str, str]
) -> None:
    """Write the Markdown table, one line per dataset.

    Parameters
    ----------
    path : path
    prepared : iterable of Prepared
    not_had : mapping of str to str
        Why each of the other datasets is missing.
    """
    lines = ["| dataset | what it is | rows | arrays | licence |", "|---|---|---:|---|---|"]
    for data in prepared:
        arrays = ", ".join(
            f"{name} {' × '.join(map(str, array.shape[1:])) or 1}"
            for name, array in data.arrays.items()
        )
        cells = [data.name, data.meta["title"], data.n_rows, arrays, data.meta["licence"]]
        lines.append(f"| {' | '.join(map(str, cells))} |")
    lines += [
        f"| {name} | not to be had: {reason} | – | – | – |" for name, reason in not_had.items()
    ]
    with replacing(path) as partial:
        partial.write_text("\n".join(lines) + "\n", encoding="utf-8")
