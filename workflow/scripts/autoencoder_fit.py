"""Fit the autoencoders of a part: repeats of the table, sweeps over d and m."""

from job import job

from workflow.data.prepared import load_prepared
from workflow.lib.provenance import read_csv, write_csv
from workflow.stages.autoencoder.fit import Experiment, run_part

with job(snakemake):
    data = load_prepared(snakemake.input.data, verify=True)
    params, chosen = snakemake.params, snakemake.input.get("chosen")
    before = read_csv(str(chosen)) if chosen else None
    experiment = Experiment(**params.experiment)
    errors, pictures = run_part(experiment, data, params.repeats, params.axes, before)
    made_by = {"experiment": params.experiment, "data": data.meta}
    write_csv(snakemake.output.errors, errors, made_by)
    write_csv(snakemake.output.pictures, pictures, made_by)
