"""Table 1 and the other tables and figures of stage rcca."""

import pandas as pd

from workflow.lib.figures import save
from workflow.lib.job import by_name, job
from workflow.lib.outcomes import read_outcomes
from workflow.lib.provenance import write_csv
from workflow.lib.published import beside_published
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
    minutes_figure,
    rcca_figure,
    tuning_figure,
)
from workflow.stages.rcca.table1 import (
    SUMS_COLUMNS,
    TIMING_COLUMNS,
    rcca_summary,
    with_baselines,
    with_minutes,
    write_latex,
    write_markdown,
)
from workflow.stages.rcca.tables import (
    LEAKS_COLUMNS,
    TUNING_COLUMNS,
    beside_base,
    chosen,
    write_leaks_table,
    write_tuning_table,
    write_variants_table,
)

if __name__ == "__main__":
    with job(snakemake) as asked:
        given, out, paper = snakemake.input, by_name(snakemake.output), asked.published
        titles, main_titles = asked.titles, asked.main_titles
        sums, not_run = read_outcomes(given.sums, SUMS_COLUMNS)
        leaks, _ = read_outcomes(given.leaks, LEAKS_COLUMNS)
        timings, _ = read_outcomes(given.timing, TIMING_COLUMNS)
        deep, _ = read_outcomes(given.dcca, DEEP_COLUMNS)
        curve, _ = read_outcomes(given.curve, EPOCH_COLUMNS)
        kernel, _ = read_outcomes(given.kcca, KERNEL_COLUMNS)
        published = pd.read_csv(given.published)

        summary = beside_published(rcca_summary(sums), published, paper)
        summary = with_minutes(summary, timings, published, paper)
        summary = with_baselines(summary, deep, kernel, published, paper)
        write_csv(out["rcca.csv"], summary)
        write_markdown(out["rcca.md"], summary, not_run, main_titles)
        write_latex(out["rcca.tex"], summary, not_run, main_titles)
        main = summary[summary["experiment"].isin(main_titles)]
        save(rcca_figure(main, published, paper, main_titles), out, "rcca")
        write_csv(out["leaks.csv"], leaks)
        write_leaks_table(out["leaks.md"], leaks, titles)
        if "rcca_minutes.svg" in out:
            figure = minutes_figure(summary, curve, published, paper, titles)
            save(figure, out, "rcca_minutes")
        if "rcca_tuning.md" in out:
            choice = chosen(read_outcomes(given.tuning, TUNING_COLUMNS)[0], asked.regs)
            write_csv(out["rcca_tuning.csv"], choice)
            write_tuning_table(out["rcca_tuning.md"], choice, titles)
            save(tuning_figure(choice, titles), out, "rcca_tuning")
        if "rcca_variants.md" in out:
            compared = beside_base(sums, asked.variants)
            write_csv(out["rcca_variants.csv"], compared)
            write_variants_table(out["rcca_variants.md"], compared, titles)
        if "baselines.md" in out:
            baselines = with_paper(baselines_summary(deep, kernel), published, paper)
            baselines = beside_rcca(baselines, deep, kernel, sums)
            search, _ = read_outcomes(given.search, SEARCH_COLUMNS)
            write_csv(out["baselines.csv"], baselines)
            names = {name: titles[name] for name in asked.compared}
            write_baselines(out["baselines.md"], baselines, curve, search, kernel, not_run, names)
        if "baselines_race.csv" in out:
            write_csv(out["baselines_race.csv"], race(curve, summary))
