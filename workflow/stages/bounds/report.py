"""Tables and figures of stage bounds."""

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from workflow.lib.figures import save
from workflow.lib.job import by_name, job
from workflow.lib.provenance import read_csv, write_csv
from workflow.lib.sentences import write_sentences
from workflow.stages.bounds.figures import bounds_figure, theorem4_figure
from workflow.stages.bounds.sentences import on_correlations, on_counterexample, on_sweeps
from workflow.stages.bounds.tables import (
    against_m,
    against_the_bound,
    draws,
    panels,
    points,
    write_bounds_table,
    write_correlations_table,
    write_theorem4_table,
)


def report_sweeps(
    norms: pd.DataFrame, published: pd.DataFrame, asked: Any, out: Mapping[str, str]
) -> dict[str, str]:
    """Fit exponents, draw norms with their bounds, and return the sentence by exhibit."""
    drawn = draws(norms, asked.fixed)
    summary = points(drawn, published, asked.published)
    write_csv(out["points.csv"], summary)
    fits = panels(drawn, summary)
    write_csv(out["bounds.csv"], fits)
    write_bounds_table(out["bounds.md"], fits, asked.titles)
    save(bounds_figure(summary, asked.titles), out, "bounds")
    return {"bounds": on_sweeps(fits, asked.titles)}


def report_theorem4(files: Sequence[str], out: Mapping[str, str]) -> dict[str, str]:
    """Show where Theorem 4 fails and what holds in its place; return sentences by exhibit."""
    given = by_name(files)
    counterexample = against_the_bound(read_csv(given["counterexample.csv"]))
    write_csv(out["theorem4.csv"], counterexample)
    write_theorem4_table(out["theorem4.md"], counterexample)
    correlations = against_m(read_csv(given["correlations.csv"]))
    write_csv(out["regularised_correlations.csv"], correlations)
    write_correlations_table(out["regularised_correlations.md"], correlations)
    save(theorem4_figure(counterexample, correlations), out, "theorem4")
    return {
        "theorem4": on_counterexample(counterexample),
        "regularised_correlations": on_correlations(correlations),
    }


if __name__ == "__main__":
    with job(snakemake) as asked:
        given, out = snakemake.input, by_name(snakemake.output)
        sentences: dict[str, str] = {}
        if given.get("draws"):
            published = pd.read_csv(given.published)
            sentences |= report_sweeps(read_csv(given.draws[0]), published, asked, out)
        if given.get("theorem4"):
            sentences |= report_theorem4(given.theorem4, out)
        write_sentences(out, sentences)
