"""Tables, verdict and figures of stage lupi."""

import pandas as pd

from workflow.lib.figures import save
from workflow.lib.job import by_name, job
from workflow.lib.outcomes import read_outcomes
from workflow.lib.provenance import write_csv
from workflow.stages.lupi.figures import methods_figure, partitions_figure, reg_figure
from workflow.stages.lupi.tables import (
    ACCURACY_COLUMNS,
    SETTINGS_COLUMNS,
    lupi_pairs,
    lupi_summary,
    published_means,
    write_lupi_table,
)
from workflow.stages.lupi.verdict import write_verdict

if __name__ == "__main__":
    with job(snakemake) as asked:
        given, out, titles = snakemake.input, by_name(snakemake.output), asked.titles
        accuracy, not_run = read_outcomes(given.accuracy, ACCURACY_COLUMNS)
        settings, _ = read_outcomes(given.settings, SETTINGS_COLUMNS)
        published = pd.read_csv(given.published)
        paper = dict.fromkeys(asked.published, published_means(published))
        summary, pairs = lupi_summary(accuracy), lupi_pairs(accuracy)
        write_csv(out["lupi.csv"], summary)
        write_csv(out["lupi_pairs.csv"], pairs)
        write_lupi_table(out["lupi.md"], summary, pairs, not_run, titles, paper)
        write_verdict(out["lupi_verdict.md"], summary, pairs, not_run, titles, paper)
        save(partitions_figure(accuracy, published, asked.published, titles), out, "lupi")
        save(methods_figure(summary, pairs, paper, titles), out, "lupi_methods")
        save(reg_figure(settings, summary, titles), out, "lupi_reg")
