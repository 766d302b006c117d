"""Write what the screen shows at the end of a run."""

from pathlib import Path

import pandas as pd
from job import job

from rnca.files import replacing
from rnca.reporting.leaks import leak_lines
from rnca.reporting.outcomes import read_outcomes

with job(snakemake):
    titles = snakemake.params.titles
    tables = [Path(table).read_text(encoding="utf-8") for table in snakemake.input.tables]
    _, reasons = read_outcomes(snakemake.input.outcomes, [])
    not_run = [f"{titles[name]}: {reason}" for name, reason in reasons.items()]
    lines = [*tables, "Not run:", *(f"  {line}" for line in not_run or ["nothing; all was run"])]
    if leaks := leak_lines(pd.read_csv(snakemake.input.leaks), titles):
        lines += ["Leaks:", *(f"  {line}" for line in leaks)]
    with replacing(snakemake.output[0]) as partial:
        partial.write_text("\n".join(lines) + "\n", encoding="utf-8")
