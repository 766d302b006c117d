"""Compare the variants of an experiment with it."""

from job import job

from workflow.lib.outcomes import read_outcomes
from workflow.lib.provenance import write_csv
from workflow.lib.tables import SUMS_COLUMNS
from workflow.stages.rcca.variants import beside_base, write_variants_table

with job(snakemake):
    sums, _ = read_outcomes(snakemake.input.sums, SUMS_COLUMNS)
    compared = beside_base(sums, snakemake.params.variants)
    write_csv(snakemake.output.csv, compared, {"inputs": list(snakemake.input)})
    write_variants_table(snakemake.output.markdown, compared, snakemake.params.titles)
