"""Render the leak audit as Markdown and CSV."""

from job import job

from rnca.provenance import write_csv
from rnca.reporting.leaks import COLUMNS, write_leaks_table
from rnca.reporting.outcomes import read_outcomes

with job(snakemake):
    leaks, _ = read_outcomes(snakemake.input.leaks, COLUMNS)
    write_csv(snakemake.output.csv, leaks, {"inputs": list(snakemake.input.leaks)})
    write_leaks_table(snakemake.output.markdown, leaks, snakemake.params.titles)
