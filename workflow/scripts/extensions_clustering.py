"""Cluster labelled pictures by every method, or say why there are none."""

from job import job
from not_had import why_not_had

from workflow.data.prepared import load_prepared
from workflow.lib.outcomes import not_run
from workflow.lib.provenance import write_csv
from workflow.stages.extensions.clustering import Comparison, on_dataset

with job(snakemake):
    labels = {"experiment": "clustering", "dataset": snakemake.params.dataset}
    made_by = {**labels, "comparison": snakemake.params.comparison}
    if path := snakemake.input.get("data"):
        data = load_prepared(path, verify=True)
        scores = on_dataset(Comparison(**snakemake.params.comparison), data)
        write_csv(snakemake.output[0], scores.assign(**labels), {**made_by, "data": data.meta})
    else:
        write_csv(snakemake.output[0], not_run(why_not_had(snakemake), labels), made_by)
