"""Put the CSVs of an experiment together by kind, or the reason why there are none."""

from job import job
from not_had import why_not_had

from workflow.lib.outcomes import gather, not_run
from workflow.lib.provenance import write_csv

with job(snakemake):
    labels = {
        "experiment": snakemake.wildcards.experiment,
        "dataset": snakemake.params.dataset,
    }
    for what, output in snakemake.output.items():
        if inputs := snakemake.input.get(what):
            outcome = gather([inputs] if isinstance(inputs, str) else inputs, labels)
        else:
            outcome = not_run(why_not_had(snakemake), labels)
        write_csv(output, outcome, labels)
