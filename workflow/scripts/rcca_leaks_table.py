"""Render the leak audit as Markdown and CSV."""

from job import job

from workflow.lib.outcomes import read_outcomes
from workflow.lib.provenance import write_csv
from workflow.stages.rcca.leaks import COLUMNS, write_leaks_table

with job(snakemake):
    leaks, _ = read_outcomes(snakemake.input.leaks, COLUMNS)
    write_csv(snakemake.output.csv, leaks, {"inputs": list(snakemake.input.leaks)})
    write_leaks_table(snakemake.output.markdown, leaks, snakemake.params.titles)
