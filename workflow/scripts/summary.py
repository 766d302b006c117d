"""Write what the screen shows at the end of a run."""

from pathlib import Path

from job import job

from rnca._core.files import replacing
from workflow.lib.outcomes import read_outcomes
from workflow.lib.provenance import read_csv
from workflow.stages.rcca.leaks import leak_lines

with job(snakemake):
    lines = [Path(table).read_text(encoding="utf-8") for table in snakemake.input.tables]
    claims = Path(snakemake.input.claims).read_text(encoding="utf-8")
    lines.append(f"The paper: {claims.splitlines()[0]}")
    not_run = []
    for file, title in snakemake.params.outcomes.items():
        _, reasons = read_outcomes([file], [])
        not_run += [f"  {title}: {reason}" for reason in reasons.values()]
    lines += ["Not run:", *not_run] if not_run else ["All that these settings ask for was run."]
    for leaks in snakemake.input.get("leaks", []):
        if telling := leak_lines(read_csv(leaks), snakemake.params.titles):
            lines += ["Leaks:", *(f"  {line}" for line in telling)]
    with replacing(snakemake.output[0]) as partial:
        partial.write_text("\n".join(lines) + "\n", encoding="utf-8")
