"""Render what the autoencoder stage measured: errors and seconds, reconstructions, latent space."""

import pandas as pd
from job import job

from workflow.lib.figures import save
from workflow.lib.outcomes import read_outcomes
from workflow.lib.provenance import write_csv
from workflow.stages.autoencoder.figures import (
    PICTURE_COLUMNS,
    error_figure,
    latent_figure,
    reconstructions_figure,
)
from workflow.stages.autoencoder.report import (
    ERROR_COLUMNS,
    autoencoder_summary,
    write_autoencoder_table,
)

with job(snakemake):
    inputs, outputs, titles = snakemake.input, snakemake.output, snakemake.params.titles
    errors, not_run = read_outcomes(inputs.errors, ERROR_COLUMNS)
    pictures, _ = read_outcomes(inputs.pictures, PICTURE_COLUMNS)
    summary = autoencoder_summary(errors)
    published = pd.read_csv(inputs.published), snakemake.params.published
    write_csv(outputs.csv, summary, {"inputs": list(inputs.errors)})
    write_autoencoder_table(outputs.table, summary, not_run, titles, *published)
    save(reconstructions_figure(pictures, titles), [outputs.pictures, outputs.pictures_png])
    save(error_figure(summary, titles), [outputs.errors, outputs.errors_png])
    save(latent_figure(pictures, titles), [outputs.latent, outputs.latent_png])
