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
    blocks,
    lupi_pairs,
    lupi_summary,
    published_pair,
    table,
    verdict,
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
        papers = dict.fromkeys(readings, published_pair(published))
        summary, pairs = lupi_summary(accuracy), lupi_pairs(accuracy)
        write_csv(out["lupi.csv"], summary)
        write_csv(out["lupi_pairs.csv"], pairs)
        for name, lines in (("lupi.md", table), ("lupi_verdict.md", verdict)):
            write_text(out[name], blocks(lines, (summary, pairs), papers, titles, not_run))
        save(differences_figure(accuracy, published, papers, titles), out, "lupi")
        save(methods_figure(pairs, papers, titles), out, "lupi_methods")
        save(reg_figure(settings, titles), out, "lupi_reg")
        sentences = {
            "lupi_verdict": on_verdict(summary, pairs, papers, titles),
            "lupi": on_differences(pairs, papers, titles),
            "lupi_methods": on_methods(pairs, titles),
            "lupi_reg": on_reg(settings, titles),
        }
        write_sentences(out, sentences)
