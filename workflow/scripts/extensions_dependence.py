"""Estimate the power of RDC and its rivals, write a tidy CSV."""

from job import job

from workflow.lib.provenance import write_csv
from workflow.stages.extensions.dependence import Simulation, power

with job(snakemake):
    made_by = snakemake.params.simulation
    write_csv(snakemake.output[0], power(Simulation(**made_by)), made_by)
