"""Tables, verdict and figures of stage lupi."""

import pandas as pd

from workflow.lib.figures import save
from workflow.lib.job import by_name, job
from workflow.lib.outcomes import read_outcomes
from workflow.lib.provenance import write_csv, write_text
from workflow.lib.sentences import write_sentences
from workflow.stages.lupi.figures import differences_figure, methods_figure, reg_figure
from workflow.stages.lupi.sentences import on_differences, on_methods, on_reg, on_verdict
from workflow.stages.lupi.tables import (
    ACCURACY_COLUMNS,
    SETTINGS_COLUMNS,
    Report,
    lupi_pairs,
    lupi_summary,
    published_pair,
)

if __name__ == "__main__":
    with job(snakemake) as asked:
        given, out, titles = snakemake.input, by_name(snakemake.output), asked.titles
        accuracy, not_run = read_outcomes(given.accuracy, ACCURACY_COLUMNS)
        settings, _ = read_outcomes(given.settings, SETTINGS_COLUMNS)
        published = pd.read_csv(given.published)
        # The protocol can be read in several ways: the paper's numbers stand beside all of them.
        data = accuracy.loc[accuracy["experiment"].isin(asked.published), "dataset"]
        readings = accuracy.loc[accuracy["dataset"].isin(data), "experiment"].unique()
        paper = dict.fromkeys(readings, published_pair(published))
        summary, pairs = lupi_summary(accuracy), lupi_pairs(accuracy)
        write_csv(out["lupi.csv"], summary)
        write_csv(out["lupi_pairs.csv"], pairs)
        report = Report(summary, pairs, not_run, titles, paper)
        write_text(out["lupi.md"], report.table())
        write_text(out["lupi_verdict.md"], report.verdict())
        save(differences_figure(accuracy, published, paper, titles), out, "lupi")
        save(methods_figure(pairs, paper, titles), out, "lupi_methods")
        save(reg_figure(settings, summary, titles), out, "lupi_reg")
        sentences = {
            "lupi_verdict": on_verdict(summary, pairs, paper, titles),
            "lupi": on_differences(pairs, paper, titles),
            "lupi_methods": on_methods(pairs, titles),
            "lupi_reg": on_reg(settings, titles),
        }
        write_sentences(out, sentences)
