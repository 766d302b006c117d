"""Show where Theorem 4 fails and what holds in its place, in tables and a figure."""

from job import job

from rnca.provenance import read_csv, write_csv
from rnca.reporting.bounds_figures import theorem4_figure
from rnca.reporting.figures import save
from rnca.reporting.theorem4 import (
    against_m,
    against_the_bound,
    write_correlations_table,
    write_theorem4_table,
)

with job(snakemake):
    output, made_by = snakemake.output, {"inputs": list(snakemake.input)}
    counterexample = against_the_bound(read_csv(snakemake.input.counterexample))
    write_csv(output.counterexample_csv, counterexample, made_by)
    write_theorem4_table(output.counterexample, counterexample)
    correlations = against_m(read_csv(snakemake.input.correlations))
    write_csv(output.correlations_csv, correlations, made_by)
    write_correlations_table(output.correlations, correlations)
    save(theorem4_figure(counterexample, correlations), [output.figure, output.png])
