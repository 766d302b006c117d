"""Render what the maps stage measured: kernel errors and correlations, seconds, numbers kept."""

import pandas as pd
from job import job
from workflow.stages.rcca.baselines_report import DEEP_COLUMNS, KERNEL_COLUMNS, baselines_summary

from workflow.lib.figures import save
from workflow.lib.outcomes import read_outcomes
from workflow.lib.provenance import read_csv, write_csv
from workflow.lib.published import beside_published
from workflow.stages.maps.figures import score_figure, size_figure, speed_figure
from workflow.stages.maps.fit import SCORE_COLUMNS
from workflow.stages.maps.report import (
    score_summary,
    speed_summary,
    with_measured,
    write_score_table,
    write_size_table,
    write_speed_table,
)
from workflow.stages.maps.sizes import model_sizes

with job(snakemake):
    inputs, outputs, titles = snakemake.input, snakemake.output, snakemake.params.titles
    published = pd.read_csv(inputs.published)

    scores, not_run = read_outcomes(inputs.scores, SCORE_COLUMNS)
    summary = beside_published(score_summary(scores), published, snakemake.params.published)
    write_csv(outputs.scores_csv, summary, {"inputs": list(inputs.scores)})
    write_score_table(outputs.scores, summary, not_run, titles)
    save(score_figure(summary, titles), [outputs.scores_figure, outputs.scores_png])

    speeds = speed_summary(pd.concat([read_csv(file) for file in inputs.times]))
    write_csv(outputs.speed_csv, speeds, {"inputs": list(inputs.times)})
    write_speed_table(outputs.speed, speeds, titles)
    save(speed_figure(speeds, titles), [outputs.speed_figure, outputs.speed_png])

    # At the numbers of features of the paper, whatever those of this run are.
    sizes = model_sizes(pd.read_csv(inputs.layers), published["m"].dropna().astype(int).unique())
    deep, _ = read_outcomes(inputs.get("dcca", []), DEEP_COLUMNS)
    kernel, _ = read_outcomes(inputs.get("kcca", []), KERNEL_COLUMNS)
    measured = baselines_summary(deep, kernel)
    sizes = with_measured(sizes, measured, published, snakemake.params.measured)
    files = [inputs.layers, inputs.published, *inputs.get("dcca", []), *inputs.get("kcca", [])]
    write_csv(outputs.sizes_csv, sizes, {"inputs": files})
    write_size_table(outputs.sizes, sizes)
    save(size_figure(sizes), [outputs.sizes_figure, outputs.sizes_png])
