"""Compare RPCA and RCCA with the exact kernel methods on a few rows, or say why not."""

from job import job
from not_had import why_not_had

from rnca.datasets.prepared import load_prepared
from rnca.provenance import write_csv
from rnca.reporting.outcomes import not_run
from rnca.stages.rpca import Comparison, compare, joined

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
