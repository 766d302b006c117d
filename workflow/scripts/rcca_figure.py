"""Draw test correlation against the number of features."""

from job import job

from rnca.reporting.figures import rcca_figure, save
from rnca.reporting.tables import rcca_summary, read_all

with job(snakemake):
    summary = rcca_summary(read_all(snakemake.input.sums))
    save(rcca_figure(summary, snakemake.params.titles), snakemake.output)
