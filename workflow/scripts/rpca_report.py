"""Make the table and the figures of the rpca stage."""

from pathlib import Path

from job import job

from workflow.lib.figures import save
from workflow.lib.outcomes import read_outcomes
from workflow.lib.provenance import write_csv
from workflow.stages.rpca.figures import agreement_figure, scatter_figure, times_figure
from workflow.stages.rpca.report import (
    ERRORS_COLUMNS,
    MERITS_COLUMNS,
    SCORES_COLUMNS,
    TIMES_COLUMNS,
    errors_summary,
    exponents,
    merits_summary,
    rates,
    write_markdown,
)

with job(snakemake):
    titles, given, output = snakemake.params.titles, snakemake.input, snakemake.output
    errors, not_run = read_outcomes(given.errors, ERRORS_COLUMNS)
    merits, _ = read_outcomes(given.merits, MERITS_COLUMNS)
    scores, _ = read_outcomes(given.scores, SCORES_COLUMNS)
    times, _ = read_outcomes(given.get("times", []), TIMES_COLUMNS)
    write_markdown(output.markdown, errors, merits, times, not_run, titles)
    for name, frame in (
        ("errors", errors_summary(errors)),
        ("merits", merits_summary(merits)),
        ("rates", rates(errors)),
        ("exponents", exponents(times)),
    ):
        write_csv(output[name], frame, {"inputs": list(given)})
    draw = {
        "rpca_pca": lambda: agreement_figure(errors, merits, "pca", titles),
        "rpca_cca": lambda: agreement_figure(errors, merits, "cca", titles),
        "rpca_scatter": lambda: scatter_figure(scores, titles),
        "rpca_times": lambda: times_figure(times, titles),
    }
    for svg, png in zip(output.svg, output.png, strict=True):
        save(draw[Path(svg).stem](), [svg, png])
