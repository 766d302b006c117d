"""Draw test correlation against the number of features, with the paper's points."""

import pandas as pd
from job import job

from workflow.lib.figures import save
from workflow.lib.provenance import read_csv
from workflow.stages.rcca.figures import rcca_figure

with job(snakemake):
    summary = read_csv(snakemake.input.table)
    summary = summary[summary["experiment"].isin(snakemake.params.titles)]
    published = pd.read_csv(snakemake.input.published)
    params = snakemake.params
    save(rcca_figure(summary, published, params.published, params.titles), snakemake.output)
