"""Render the RCCA table as Markdown and CSV."""

from job import job

from rnca.provenance import write_csv
from rnca.reporting.tables import rcca_summary, read_all, write_markdown

with job(snakemake):
    summary = rcca_summary(read_all(snakemake.input.sums))
    write_csv(snakemake.output.csv, summary, {"inputs": list(snakemake.input.sums)})
    write_markdown(snakemake.output.markdown, summary, snakemake.params.titles)
