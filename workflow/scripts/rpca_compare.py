"""Compare RPCA and RCCA with the exact kernel methods on a few rows, or say why not."""

from job import job
from not_had import why_not_had

from workflow.data.prepared import load_prepared
from workflow.lib.outcomes import not_run
from workflow.lib.provenance import write_csv
from workflow.stages.rpca.fit import Comparison, compare, joined

with job(snakemake):
    params = snakemake.params
    made_by = {"comparisons": params.comparisons}
    if path := snakemake.input.get("data"):
        data = load_prepared(path, verify=True)
        made_by["data"] = data.meta
        outcome = joined([compare(Comparison(**each), data) for each in params.comparisons])
        frames = outcome._asdict()
    else:
        labels = {"experiment": snakemake.wildcards.experiment, "dataset": params.dataset}
        frames = dict.fromkeys(snakemake.output.keys(), not_run(why_not_had(snakemake), labels))
    for what, frame in frames.items():
        write_csv(snakemake.output[what], frame, made_by)
