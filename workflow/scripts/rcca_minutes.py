"""Draw correlation against the minutes of a fit, with the paper's points."""

import pandas as pd
from job import job

from workflow.lib.figures import save
from workflow.lib.outcomes import read_outcomes
from workflow.lib.provenance import read_csv
from workflow.stages.rcca.baselines_report import EPOCH_COLUMNS
from workflow.stages.rcca.figures import minutes_figure

with job(snakemake):
    summary = read_csv(snakemake.input.table)
    published = pd.read_csv(snakemake.input.published)
    curve, _ = read_outcomes(snakemake.input.get("curve", []), EPOCH_COLUMNS)
    protocol, titles = snakemake.params.published, snakemake.params.titles
    save(minutes_figure(summary, curve, published, protocol, titles), snakemake.output)
