"""Render accuracies, differences in pairs and the verdict."""

import pandas as pd
from job import job

from workflow.lib.outcomes import read_outcomes
from workflow.lib.provenance import write_csv
from workflow.stages.lupi.report import (
    ACCURACY_COLUMNS,
    lupi_pairs,
    lupi_summary,
    published_means,
    write_lupi_table,
)
from workflow.stages.lupi.verdict import write_verdict

with job(snakemake):
    accuracy, not_run = read_outcomes(snakemake.input.accuracy, ACCURACY_COLUMNS)
    means = published_means(pd.read_csv(snakemake.input.published))
    paper = dict.fromkeys(snakemake.params.published, means)
    summary, pairs = lupi_summary(accuracy), lupi_pairs(accuracy)
    made_by = {"inputs": list(snakemake.input)}
    write_csv(snakemake.output.csv, summary, made_by)
    write_csv(snakemake.output.pairs, pairs, made_by)
    rest = (summary, pairs, not_run, snakemake.params.titles, paper)
    write_lupi_table(snakemake.output.markdown, *rest)
    write_verdict(snakemake.output.verdict, *rest)
