"""The table of datasets: what each holds, under which terms, and which are unavailable."""

from collections.abc import Iterable, Mapping
from os import PathLike
from pathlib import Path

from workflow.data.prepared import Prepared, load_prepared
from workflow.lib.job import job
from workflow.lib.outcomes import unavailable_reason
from workflow.lib.provenance import write_text


def write_data_table(
    path: str | PathLike[str], prepared: Iterable[Prepared], unavailable: Mapping[str, str]
) -> None:
    """Write the Markdown table, one line per dataset, or the reason why it is unavailable."""
    lines = ["| dataset | what it is | rows | arrays | licence |", "|---|---|---:|---|---|"]
    for data in prepared:
        arrays = ", ".join(
            f"{name} {' × '.join(map(str, array.shape[1:])) or 1}"
            for name, array in data.arrays.items()
        )
        cells = [data.name, data.meta["title"], data.n_rows, arrays, data.meta["licence"]]
        lines.append(f"| {' | '.join(map(str, cells))} |")
    lines += [
        f"| {name} | unavailable: {reason} | – | – | – |" for name, reason in unavailable.items()
    ]
    write_text(path, "\n".join(lines) + "\n")


if __name__ == "__main__":
    with job(snakemake) as asked:
        unavailable = dict.fromkeys(asked.skipped, "left out by `skip` in the settings")
        for record in map(Path, snakemake.input.get("records", [])):
            if reason := unavailable_reason(record):
                unavailable[record.stem] = reason
        prepared = [load_prepared(path) for path in snakemake.input.get("prepared", [])]
        write_data_table(snakemake.output[0], prepared, unavailable)
