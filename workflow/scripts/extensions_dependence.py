"""Estimate the power of RDC and its rivals, write a tidy CSV."""

from job import job

from rnca.provenance import write_csv
from rnca.stages.dependence import Simulation, power

with job(snakemake):
    made_by = snakemake.params.simulation
    write_csv(snakemake.output[0], power(Simulation(**made_by)), made_by)
