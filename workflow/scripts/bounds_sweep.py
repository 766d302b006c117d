"""Simulate a block of draws at every point of a sweep."""

from job import job

from workflow.lib.provenance import write_csv
from workflow.stages.bounds.fit import Sweep, simulate

with job(snakemake):
    norms = simulate(Sweep(**snakemake.params.sweep), range(*snakemake.params.repeats))
    made_by = {"sweep": snakemake.params.sweep, "repeats": snakemake.params.repeats}
    write_csv(snakemake.output[0], norms, made_by)
