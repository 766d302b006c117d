"""Take a dataset, fetched, embedded or the user's own, and bring it to the prepared form."""

from job import job

from workflow.data.catalogue import prepare

with job(snakemake):
    prepare(
        snakemake.wildcards.dataset,
        snakemake.output[0],
        entry=snakemake.params.entry,
        checksums=snakemake.params.checksums,
    )
