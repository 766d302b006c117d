"""Render Table 1 as Markdown, LaTeX and CSV."""

import pandas as pd
from job import job

from rnca.provenance import write_csv
from rnca.reporting.baselines import DEEP_COLUMNS, KERNEL_COLUMNS
from rnca.reporting.latex import write_latex
from rnca.reporting.minutes import TIMING_COLUMNS, with_minutes
from rnca.reporting.outcomes import read_outcomes
from rnca.reporting.published import beside_published
from rnca.reporting.table1 import with_baselines
from rnca.reporting.tables import SUMS_COLUMNS, rcca_summary, write_markdown

with job(snakemake):
    titles, protocol = snakemake.params.titles, snakemake.params.published
    given = snakemake.input
    sums, not_run = read_outcomes(given.sums, SUMS_COLUMNS)
    timings, _ = read_outcomes(given.get("timing", []), TIMING_COLUMNS)
    deep, _ = read_outcomes(given.get("dcca", []), DEEP_COLUMNS)
    kernel, _ = read_outcomes(given.get("kcca", []), KERNEL_COLUMNS)
    published = pd.read_csv(given.published)
    summary = beside_published(rcca_summary(sums), published, protocol)
    summary = with_minutes(summary, timings, published, protocol)
    summary = with_baselines(summary, deep, kernel, published, protocol)
    write_csv(snakemake.output.csv, summary, {"inputs": list(given)})
    write_markdown(snakemake.output.markdown, summary, not_run, titles)
    write_latex(snakemake.output.latex, summary, not_run, titles)
