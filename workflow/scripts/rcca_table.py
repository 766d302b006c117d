"""Render Table 1 as Markdown, LaTeX and CSV."""

import pandas as pd
from job import job

from workflow.lib.outcomes import read_outcomes
from workflow.lib.provenance import write_csv
from workflow.lib.published import beside_published
from workflow.lib.tables import SUMS_COLUMNS, rcca_summary, write_markdown
from workflow.stages.rcca.baselines_report import DEEP_COLUMNS, KERNEL_COLUMNS
from workflow.stages.rcca.latex import write_latex
from workflow.stages.rcca.minutes import TIMING_COLUMNS, with_minutes
from workflow.stages.rcca.table1 import with_baselines

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
