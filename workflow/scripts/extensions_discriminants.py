"""Classify labelled pictures by every method, or say why there are none."""

from job import job
from not_had import why_not_had

from workflow.data.prepared import load_prepared
from workflow.lib.outcomes import not_run
from workflow.lib.provenance import write_csv
from workflow.stages.extensions.discriminants import Contest, classify

with job(snakemake):
    labels = {"experiment": "discriminants", "dataset": snakemake.params.dataset}
    made_by = {**labels, "contest": snakemake.params.contest}
    if path := snakemake.input.get("data"):
        data = load_prepared(path, verify=True)
        scores = classify(Contest(**snakemake.params.contest), data)
        write_csv(snakemake.output[0], scores.assign(**labels), {**made_by, "data": data.meta})
    else:
        write_csv(snakemake.output[0], not_run(why_not_had(snakemake), labels), made_by)
