"""Table 1 and the other tables and figures of stage rcca."""

from collections.abc import Mapping
from typing import Any

import pandas as pd

from workflow.lib.chart import HALF, save
from workflow.lib.job import by_name, job
from workflow.lib.outcomes import Outcomes, gathered
from workflow.lib.provenance import check, write_csv
from workflow.lib.tables import write_numbers
from workflow.stages.rcca import (
    baselines_tables,
    figures,
    grid_tables,
    headlines,
    table1,
    tables,
)
from workflow.stages.rcca.tables import write_latex, write_markdown


def report(outcomes: Outcomes, asked: Any, given: Any, out: Mapping[str, str]) -> None:
    """Write the tables and figures of the stage, and what they say.

    ``asked`` are the settings of the report, ``given`` the other files it reads, ``out`` the files
    it writes by their names.
    """
    paper = asked.published
    main_titles, series = asked.main_titles, asked.series
    titles = asked.titles | {of["name"]: of["title"] for of in series.values()}
    sums, not_run = outcomes.rows("sums", columns=table1.SUMS_COLUMNS)
    grid, _ = outcomes.rows("regs", columns=grid_tables.GRID_COLUMNS)
    grid = grid_tables.completed(grid)
    cv, _ = outcomes.rows("cv", columns=tables.CV_COLUMNS)
    leaks, _ = outcomes.rows("leaks", columns=tables.LEAKS_COLUMNS)
    timings, _ = outcomes.rows("timing", columns=table1.TIMING_COLUMNS)
    deep, _ = outcomes.rows("dcca", columns=baselines_tables.DEEP_COLUMNS)
    curve, _ = outcomes.rows("curve", columns=baselines_tables.EPOCH_COLUMNS)
    kernel, _ = outcomes.rows("kcca", columns=baselines_tables.KERNEL_COLUMNS)
    published = pd.read_csv(given.published)

    fits = baselines_tables.baseline_fits(deep, kernel)
    summary = table1.with_minutes(table1.rcca_summary(sums), timings)
    summary = table1.with_paper(table1.with_baselines(summary, fits), published, paper)
    summary = table1.with_leaks(summary, leaks, series)
    pairs = tables.chosen_pairs(cv, asked.regs)
    speakers = table1.by_speaker(summary, pairs)
    over = table1.over_speakers(speakers, series, published)
    floors = table1.floor_rows(summary, over, series, main_titles)
    by_reg = grid_tables.by_reg(sums, grid, published, paper)
    main = summary[summary["experiment"].isin(main_titles)]
    blocks = table1.experiment_blocks(summary, not_run, main_titles)
    blocks += table1.series_blocks(over, series, not_run)

    write_csv(out["rcca.csv"], summary)
    write_markdown(out["rcca.md"], blocks)
    write_latex(out["rcca.tex"], blocks)
    write_markdown(out["rcca_floor.md"], table1.floor_blocks(floors))
    write_csv(out["leaks.csv"], leaks)
    write_markdown(out["leaks.md"], tables.leak_blocks(leaks, asked.titles))
    save(figures.rcca_figure(main, published, paper, titles), out, "rcca", HALF)
    found = headlines.of_table1(main) | headlines.of_floor(floors, leaks)
    found["series"] = headlines.of_series(over)
    if paper:
        layers = pd.read_csv(given.layers)
        write_csv(out["rcca_sizes.csv"], baselines_tables.model_sizes(layers, published))
    if series:
        save(figures.speakers_figure(over, titles), out, "rcca_speakers", HALF)
        write_csv(out["rcca_speakers.csv"], speakers)
        write_csv(out["rcca_series.csv"], over)
    if "rcca_model.md" in out:
        inference, _ = outcomes.rows("inference", columns=tables.INFERENCE_COLUMNS)
        for file in given.variables:
            check(file)
        models = figures.read_models(given.loadings, given.variables, inference)
        loadings = {key: model[0] for key, model in models.items()}
        write_markdown(out["rcca_model.md"], tables.model_blocks(inference, titles, loadings))
        save(figures.model_figure(inference, models, titles), out, "rcca_model", columns=3)
        found |= headlines.of_models(inference, leaks, titles)
    if "rcca_minutes.md" in out:
        write_markdown(out["rcca_minutes.md"], table1.minutes_blocks(summary, titles))
        figure = figures.minutes_figure(summary, published, paper, titles)
        save(figure, out, "rcca_minutes")
    if "rcca_cv.md" in out:
        choice = tables.chosen(pairs, series)
        write_csv(out["rcca_cv.csv"], choice)
        write_markdown(out["rcca_cv.md"], tables.chosen_blocks(choice, titles))
        save(figures.cv_figure(choice, titles), out, "rcca_cv")
        found["chosen"] = headlines.of_choice(choice)
    if "rcca_regs.md" in out:
        write_csv(out["rcca_regs.csv"], by_reg)
        write_markdown(out["rcca_regs.md"], grid_tables.reg_blocks(by_reg, titles))
        gaps = grid_tables.gaps(grid, series)
        foretold = grid_tables.overfitting(gaps)
        write_csv(out["rcca_overfitting.csv"], foretold)
        write_markdown(out["rcca_overfitting.md"], grid_tables.overfitting_blocks(foretold))
        save(figures.overfitting_figure(gaps, titles, series), out, "rcca_overfitting", columns=2)
        found["overfitting"] = headlines.of_overfitting(foretold)
    if "rcca_linear.md" in out:
        linear, not_tuned = outcomes.rows("linear", columns=grid_tables.LINEAR_COLUMNS)
        tuned = grid_tables.linear_summary(linear, published, paper)
        names = {name: titles[name] for name in asked.tuned}
        write_csv(out["rcca_linear.csv"], tuned)
        write_markdown(out["rcca_linear.md"], grid_tables.linear_blocks(tuned, not_tuned, names))
    if "rcca_variants.md" in out:
        compared = tables.beside_base(sums, asked.variants)
        write_csv(out["rcca_variants.csv"], compared)
        write_markdown(out["rcca_variants.md"], tables.variant_blocks(compared, titles))
    if "baselines.md" in out:
        search, _ = outcomes.rows("search", columns=baselines_tables.SEARCH_COLUMNS)
        baselines = baselines_tables.baselines_summary(fits, sums, published, paper)
        write_csv(out["baselines.csv"], baselines)
        names = {name: titles[name] for name in asked.compared}
        fitted = curve, search, kernel, not_run, names
        blocks = baselines_tables.baseline_blocks(baselines, *fitted)
        write_markdown(out["baselines.md"], blocks)
        found |= headlines.of_baselines(baselines)
    if "baselines_race.csv" in out:
        write_csv(out["baselines_race.csv"], baselines_tables.race(curve, summary))
    write_numbers(out["numbers.json"], found)


if __name__ == "__main__":
    with job(snakemake) as asked:
        outcomes = gathered(snakemake, asked)
        report(outcomes, asked, snakemake.input, by_name(snakemake.output.shown))
