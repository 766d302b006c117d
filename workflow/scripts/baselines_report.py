"""Make the table and the figures of the baselines stage."""

import pandas as pd
from job import job

from workflow.lib.figures import save
from workflow.lib.outcomes import read_outcomes
from workflow.lib.provenance import write_csv
from workflow.stages.rcca.baselines import CURVE_COLUMNS, DCCA_COLUMNS, KCCA_COLUMNS, LABELS
from workflow.stages.rcca.baselines_figures import baselines_figure, kernel_figure
from workflow.stages.rcca.baselines_report import (
    baselines_summary,
    kernel_growth,
    with_paper,
    write_markdown,
)

with job(snakemake):
    titles, given, output = snakemake.params.titles, snakemake.input, snakemake.output
    deep, not_run = read_outcomes(given.dcca, [*LABELS, *DCCA_COLUMNS])
    curve, _ = read_outcomes(given.curve, [*LABELS, *CURVE_COLUMNS])
    kernel, _ = read_outcomes(given.kcca, [*LABELS, *KCCA_COLUMNS])
    published = pd.read_csv(given.published)
    protocol = snakemake.params.published
    summary = with_paper(baselines_summary(deep, kernel), published, protocol)
    growth = kernel_growth(kernel)
    write_csv(output.csv, summary, {"inputs": list(given)})
    write_csv(output.growth, growth, {"inputs": list(given)})
    write_markdown(output.markdown, summary, curve, growth, not_run, titles)
    figure = baselines_figure(deep, curve, kernel, published, protocol, titles)
    save(figure, [output.baselines, output.baselines_png])
    save(kernel_figure(kernel, growth, titles), [output.kernel, output.kernel_png])
