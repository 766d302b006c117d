"""The table of datasets: what each holds, under which terms, and which are unavailable."""

from pathlib import Path

from workflow.lib.job import job
from workflow.lib.outcomes import unavailable_reason
from workflow.lib.provenance import read_prepared, write_text

if __name__ == "__main__":
    with job(snakemake) as asked:
        lines = ["| dataset | what it is | rows | arrays | licence |", "|---|---|---:|---|---|"]
        for data in map(read_prepared, snakemake.input.get("prepared", [])):
            arrays = ", ".join(
                f"{name} {' × '.join(map(str, array.shape[1:])) or 1}"
                for name, array in data.arrays.items()
            )
            cells = [data.name, data.meta["title"], data.n_rows, arrays, data.meta["licence"]]
            lines.append(f"| {' | '.join(map(str, cells))} |")
        unavailable = dict.fromkeys(asked.skipped, "left out by `skip` in the settings")
        for record in map(Path, snakemake.input.get("records", [])):
            if reason := unavailable_reason(record):
                unavailable[record.stem] = reason
        for name, reason in unavailable.items():
            lines.append(f"| {name} | unavailable: {reason} | – | – | – |")
        write_text(snakemake.output[0], "\n".join(lines) + "\n")
