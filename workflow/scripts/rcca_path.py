"""Fit RCCA at every m from one pass, evaluate on test rows, write tidy CSVs."""

from job import job

from workflow.data.prepared import load_prepared
from workflow.lib.provenance import write_csv
from workflow.stages.rcca.fit import Experiment, fit_path

with job(snakemake):
    data = load_prepared(snakemake.input.data, verify=True)
    experiment = Experiment(**snakemake.params.experiment)
    outcome = fit_path(experiment, data, snakemake.input.get("shards", []))
    made_by = {"experiment": snakemake.params.experiment, "data": data.meta}
    write_csv(snakemake.output.sums, outcome.sums, made_by)
    write_csv(snakemake.output.components, outcome.components, made_by)
    write_csv(snakemake.output.timings, outcome.timings, made_by)
    write_csv(snakemake.output.tuning, outcome.tuning, made_by)
    outcome.split.save(snakemake.output.split)
