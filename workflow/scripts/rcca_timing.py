"""Time a fit at one m alone, on one thread and on all of the job's."""

from job import job

from workflow.data.prepared import load_prepared
from workflow.lib.provenance import write_csv
from workflow.stages.rcca.fit import Experiment, time_fit

with job(snakemake):
    data = load_prepared(snakemake.input.data, verify=True)
    experiment = Experiment(**snakemake.params.experiment)
    threads = sorted({1, snakemake.threads})
    made_by = {"experiment": snakemake.params.experiment, "data": data.meta}
    write_csv(snakemake.output[0], time_fit(experiment, data, threads), made_by)
