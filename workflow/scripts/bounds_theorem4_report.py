"""Show where Theorem 4 fails and what holds in its place, in tables and a figure."""

from job import job

from workflow.lib.figures import save
from workflow.lib.provenance import read_csv, write_csv
from workflow.stages.bounds.figures import theorem4_figure
from workflow.stages.bounds.theorem4_report import (
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
