"""Write what the screen shows at the end of a run."""

from pathlib import Path

from job import job

from rnca.files import replacing

with job(snakemake):
    tables = [Path(table).read_text(encoding="utf-8") for table in snakemake.input.tables]
    not_run = [f"{name}: {reason}" for name, reason in snakemake.params.not_run.items()]
    lines = [*tables, "Not run:", *(f"  {line}" for line in not_run or ["nothing; all was run"])]
    with replacing(snakemake.output[0]) as partial:
        partial.write_text("\n".join(lines) + "\n", encoding="utf-8")
