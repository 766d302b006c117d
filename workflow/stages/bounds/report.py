"""Tables and figures of stage bounds."""

import pandas as pd

from workflow.lib.figures import save
from workflow.lib.job import by_name, job
from workflow.lib.provenance import read_csv, write_csv, write_text
from workflow.lib.sentences import write_sentences
from workflow.stages.bounds.figures import bounds_figure, theorem4_figure
from workflow.stages.bounds.sentences import on_correlations, on_counterexample, on_sweeps
from workflow.stages.bounds.tables import (
    against_m,
    against_the_bound,
    bounds_table,
    correlations_table,
    draws,
    panels,
    points,
    theorem4_table,
)

if __name__ == "__main__":
    with job(snakemake) as asked:
        given, out = snakemake.input, by_name(snakemake.output)
        sentences: dict[str, str] = {}
        if given.get("draws"):
            drawn = draws(read_csv(given.draws[0]), asked.fixed)
            summary = points(drawn, pd.read_csv(given.published), asked.published)
            fits = panels(drawn, summary)
            write_csv(out["points.csv"], summary)
            write_csv(out["bounds.csv"], fits)
            write_text(out["bounds.md"], bounds_table(fits, asked.titles))
            save(bounds_figure(summary, asked.titles), out, "bounds")
            sentences["bounds"] = on_sweeps(fits, asked.titles)
        if given.get("theorem4"):
            files = by_name(given.theorem4)
            counterexample = against_the_bound(read_csv(files["counterexample.csv"]))
            correlations = against_m(read_csv(files["correlations.csv"]))
            write_csv(out["theorem4.csv"], counterexample)
            write_csv(out["regularised_correlations.csv"], correlations)
            write_text(out["theorem4.md"], theorem4_table(counterexample))
            write_text(out["regularised_correlations.md"], correlations_table(correlations))
            save(theorem4_figure(counterexample, correlations), out, "theorem4")
            sentences["theorem4"] = on_counterexample(counterexample)
            sentences["regularised_correlations"] = on_correlations(correlations)
        write_sentences(out, sentences)
