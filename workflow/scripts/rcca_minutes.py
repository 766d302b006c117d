"""Draw test correlation against the minutes of a fit, with the paper's points."""

import pandas as pd
from job import job

from rnca.provenance import read_csv
from rnca.reporting.figures import save
from rnca.reporting.rcca_figures import minutes_figure

with job(snakemake):
    summary = read_csv(snakemake.input.table)
    published = pd.read_csv(snakemake.input.published)
    params = snakemake.params
    save(minutes_figure(summary, published, params.published, params.titles), snakemake.output)
