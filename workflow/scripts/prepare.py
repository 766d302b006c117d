"""Fetch a dataset, or take an embedded one, and bring it to the prepared form."""

from job import job

from rnca.datasets.catalogue import prepare

with job(snakemake):
    prepare(snakemake.wildcards.dataset, snakemake.output[0])
