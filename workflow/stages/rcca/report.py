"""Table 1 and the other tables and figures of stage rcca."""

import pandas as pd

from workflow.lib.figures import save
from workflow.lib.job import by_name, job
from workflow.lib.outcomes import read_outcomes
from workflow.lib.provenance import write_csv
from workflow.lib.published import beside_published
from workflow.lib.sentences import write_sentences
from workflow.stages.rcca import sentences
from workflow.stages.rcca.baselines_tables import (
    DEEP_COLUMNS,
    EPOCH_COLUMNS,
    KERNEL_COLUMNS,
    SEARCH_COLUMNS,
    baselines_summary,
    beside_rcca,
    race,
    with_paper,
    write_baselines,
)
from workflow.stages.rcca.figures import (
    cv_figure,
    minutes_figure,
    rcca_figure,
    regs_figure,
    speakers_figure,
)
from workflow.stages.rcca.own import (
    INFERENCE_COLUMNS,
    model_blocks,
    model_figure,
    on_model,
    read_models,
)
from workflow.stages.rcca.series import (
    by_speaker,
    floor_blocks,
    floor_rows,
    over_speakers,
    series_blocks,
)
from workflow.stages.rcca.table1 import (
    SUMS_COLUMNS,
    TIMING_COLUMNS,
    experiment_blocks,
    minutes_blocks,
    rcca_summary,
    with_baselines,
    with_leaks,
    with_minutes,
    write_latex,
    write_markdown,
)
from workflow.stages.rcca.tables import (
    CV_COLUMNS,
    LEAKS_COLUMNS,
    beside_base,
    by_reg,
    chosen,
    chosen_blocks,
    chosen_pairs,
    reg_blocks,
    variant_blocks,
    write_leaks_table,
)

if __name__ == "__main__":
    with job(snakemake) as asked:
        given, out, paper = snakemake.input, by_name(snakemake.output), asked.published
        main_titles, series = asked.main_titles, asked.series
        titles = asked.titles | {of["name"]: of["title"] for of in series.values()}
        sums, not_run = read_outcomes(given.sums, SUMS_COLUMNS)
        regs, _ = read_outcomes(given.regs, SUMS_COLUMNS)
        cv, _ = read_outcomes(given.cv, CV_COLUMNS)
        leaks, _ = read_outcomes(given.leaks, LEAKS_COLUMNS)
        timings, _ = read_outcomes(given.timing, TIMING_COLUMNS)
        deep, _ = read_outcomes(given.dcca, DEEP_COLUMNS)
        curve, _ = read_outcomes(given.curve, EPOCH_COLUMNS)
        kernel, _ = read_outcomes(given.kcca, KERNEL_COLUMNS)
        published = pd.read_csv(given.published)

        summary = beside_published(rcca_summary(sums), published, paper)
        summary = with_minutes(summary, timings, published, paper)
        summary = with_baselines(summary, deep, kernel, published, paper)
        summary = with_leaks(summary, leaks, series)
        pairs = chosen_pairs(cv, asked.regs)
        speakers = by_speaker(summary, pairs)
        over = over_speakers(speakers, series, published)
        blocks = experiment_blocks(summary, not_run, main_titles)
        blocks += series_blocks(over, series, not_run)
        write_csv(out["rcca.csv"], summary)
        write_markdown(out["rcca.md"], blocks)
        write_latex(out["rcca.tex"], blocks)
        floors = floor_rows(summary, over, series, main_titles)
        write_markdown(out["rcca_floor.md"], floor_blocks(floors))
        main = summary[summary["experiment"].isin(main_titles)]
        said = {
            "rcca": sentences.on_table1(main, titles),
            "rcca_speakers": sentences.on_protocols(over, titles),
            "rcca_floor": sentences.on_floor(floors),
            "leaks": sentences.on_leaks(leaks, asked.titles),
            "rcca_minutes": sentences.on_minutes(summary, titles),
        }
        save(rcca_figure(main, published, paper, titles), out, "rcca")
        write_csv(out["leaks.csv"], leaks)
        write_leaks_table(out["leaks.md"], leaks, asked.titles)
        if series:
            save(speakers_figure(over, titles), out, "rcca_speakers")
            write_csv(out["rcca_speakers.csv"], speakers)
            write_csv(out["rcca_series.csv"], over)
        if "rcca_model.md" in out:
            inference, _ = read_outcomes(given.inference, INFERENCE_COLUMNS)
            models = read_models(given.loadings, given.variables, inference)
            write_markdown(out["rcca_model.md"], model_blocks(inference, titles))
            save(model_figure(inference, models, titles), out, "rcca_model")
            said["rcca_model"] = on_model(inference, titles)
        if "rcca_minutes.md" in out:
            write_markdown(out["rcca_minutes.md"], minutes_blocks(summary, titles))
        if "rcca_minutes.svg" in out:
            figure = minutes_figure(summary, curve, published, paper, titles)
            save(figure, out, "rcca_minutes")
        if "rcca_cv.md" in out:
            choice = chosen(pairs, series)
            write_csv(out["rcca_cv.csv"], choice)
            write_markdown(out["rcca_cv.md"], chosen_blocks(choice, titles))
            save(cv_figure(choice, titles), out, "rcca_cv")
            said["rcca_cv"] = sentences.on_choice(choice)
        if "rcca_regs.md" in out:
            found = by_reg(sums, regs, published, paper)
            write_csv(out["rcca_regs.csv"], found)
            write_markdown(out["rcca_regs.md"], reg_blocks(found, titles))
            save(regs_figure(found, titles), out, "rcca_regs")
            said["rcca_regs"] = sentences.on_regs(found, titles)
        if "rcca_variants.md" in out:
            compared = beside_base(sums, asked.variants)
            write_csv(out["rcca_variants.csv"], compared)
            write_markdown(out["rcca_variants.md"], variant_blocks(compared, titles))
            said["rcca_variants"] = sentences.on_variants(compared, titles)
        if "baselines.md" in out:
            baselines = with_paper(baselines_summary(deep, kernel), published, paper)
            baselines = beside_rcca(baselines, deep, kernel, sums)
            search, _ = read_outcomes(given.search, SEARCH_COLUMNS)
            write_csv(out["baselines.csv"], baselines)
            said["baselines"] = sentences.on_baselines(baselines, titles)
            names = {name: titles[name] for name in asked.compared}
            write_baselines(out["baselines.md"], baselines, curve, search, kernel, not_run, names)
        if "baselines_race.csv" in out:
            write_csv(out["baselines_race.csv"], race(curve, summary))
        write_sentences(out, said)
