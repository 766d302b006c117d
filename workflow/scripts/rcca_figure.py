"""Draw test correlation against the number of features, with the paper's points."""

import pandas as pd
from job import job

from rnca.reporting.figures import rcca_figure, save
from rnca.reporting.outcomes import read_outcomes
from rnca.reporting.tables import SUMS_COLUMNS, rcca_summary

with job(snakemake):
    sums, _ = read_outcomes(snakemake.input.sums, SUMS_COLUMNS)
    published = pd.read_csv(snakemake.input.published)
    params = snakemake.params
    figure = rcca_figure(rcca_summary(sums), published, params.published, params.titles)
    save(figure, snakemake.output)
