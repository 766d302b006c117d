"""Table and figures of stage autoencoder."""

import pandas as pd

from workflow.lib.figures import save
from workflow.lib.job import by_name, job
from workflow.lib.outcomes import read_outcomes
from workflow.lib.provenance import write_csv, write_text
from workflow.lib.sentences import write_sentences
from workflow.stages.autoencoder.figures import (
    PICTURE_COLUMNS,
    error_figure,
    reconstructions_figure,
)
from workflow.stages.autoencoder.sentences import on_sweeps, on_table
from workflow.stages.autoencoder.tables import (
    ERROR_COLUMNS,
    autoencoder_summary,
    autoencoder_table,
)

if __name__ == "__main__":
    with job(snakemake) as asked:
        given, out, titles = snakemake.input, by_name(snakemake.output), asked.titles
        errors, not_run = read_outcomes(given.errors, ERROR_COLUMNS)
        pictures, _ = read_outcomes(given.pictures, PICTURE_COLUMNS)
        summary = autoencoder_summary(errors)
        published = pd.read_csv(given.published), asked.published
        write_csv(out["autoencoder.csv"], summary)
        table = autoencoder_table(summary, not_run, titles, *published)
        write_text(out["autoencoder.md"], table)
        save(reconstructions_figure(pictures, summary, titles), out, "autoencoder")
        save(error_figure(summary, titles), out, "autoencoder_errors")
        shown = {"autoencoder": on_table, "autoencoder_errors": on_sweeps}
        write_sentences(out, {name: say(summary, titles) for name, say in shown.items()})
