"""Time a truncated and a full SVD of the same matrix."""

from job import job

from workflow.data.prepared import load_prepared
from workflow.lib.provenance import write_csv
from workflow.stages.rcca.fit import Experiment
from workflow.stages.rcca.svd import time_svds

with job(snakemake):
    data = load_prepared(snakemake.input.data, verify=True)
    experiment = Experiment(**snakemake.params.experiment)
    times = time_svds(experiment, data, experiment.sizes, snakemake.threads)
    made_by = {"experiment": snakemake.params.experiment, "data": data.meta}
    write_csv(snakemake.output[0], times, made_by)
