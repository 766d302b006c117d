"""Fit and judge all methods in some partitions, write tidy CSVs."""

from job import job

from workflow.data.prepared import load_prepared
from workflow.lib.provenance import write_csv
from workflow.stages.lupi.fit import Experiment, compare

with job(snakemake):
    data = load_prepared(snakemake.input.data, verify=True)
    params = snakemake.params
    outcome = compare(Experiment(**params.experiment), data, params.partitions)
    made_by = {
        "experiment": params.experiment,
        "partitions": params.partitions,
        "data": data.meta,
    }
    write_csv(snakemake.output.accuracy, outcome.accuracy, made_by)
    write_csv(snakemake.output.settings, outcome.settings, made_by)
