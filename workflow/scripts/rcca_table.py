"""Render the RCCA table as Markdown and CSV."""

import pandas as pd
from job import job

from rnca.provenance import write_csv
from rnca.reporting.outcomes import read_outcomes
from rnca.reporting.published import beside_published
from rnca.reporting.tables import SUMS_COLUMNS, rcca_summary, write_markdown

with job(snakemake):
    sums, not_run = read_outcomes(snakemake.input.sums, SUMS_COLUMNS)
    published = pd.read_csv(snakemake.input.published)
    summary = beside_published(rcca_summary(sums), published, snakemake.params.published)
    write_csv(snakemake.output.csv, summary, {"inputs": list(snakemake.input)})
    write_markdown(snakemake.output.markdown, summary, not_run, snakemake.params.titles)
