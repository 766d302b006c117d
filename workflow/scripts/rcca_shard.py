"""Accumulate the moments of one shard of an RCCA fit's training rows."""

from job import job

from workflow.data.prepared import load_prepared
from workflow.stages.rcca.fit import Experiment, accumulate_shard

with job(snakemake):
    data = load_prepared(snakemake.input.data, verify=True)
    experiment = Experiment(**snakemake.params.experiment)
    shard, shards = int(snakemake.wildcards.shard), snakemake.params.shards
    accumulate_shard(experiment, data, shard, shards).save(snakemake.output[0])
