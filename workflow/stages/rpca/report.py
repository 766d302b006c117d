"""Tables and figures of stage rpca."""

from workflow.lib.figures import save
from workflow.lib.job import by_name, job
from workflow.lib.outcomes import read_outcomes
from workflow.lib.provenance import write_csv, write_text
from workflow.lib.sentences import write_sentences
from workflow.stages.rpca.figures import agreement_figure, scatter_figure, times_figure
from workflow.stages.rpca.sentences import on_agreement, on_errors, on_scatter, on_times
from workflow.stages.rpca.tables import (
    ERRORS_COLUMNS,
    MERITS_COLUMNS,
    SCORES_COLUMNS,
    TIMES_COLUMNS,
    errors_summary,
    exponents,
    merits_summary,
    rates,
    table,
)

if __name__ == "__main__":
    with job(snakemake) as asked:
        given, out, titles = snakemake.input, by_name(snakemake.output), asked.titles
        errors, not_run = read_outcomes(given.errors, ERRORS_COLUMNS)
        merits, _ = read_outcomes(given.merits, MERITS_COLUMNS)
        scores, _ = read_outcomes(given.scores, SCORES_COLUMNS)
        times, _ = read_outcomes(given.get("times", []), TIMES_COLUMNS)
        write_text(out["rpca.md"], table(errors, merits, times, not_run, titles))
        write_csv(out["rpca.csv"], errors_summary(errors))
        write_csv(out["rpca_merits.csv"], merits_summary(merits))
        falling, laws = rates(errors), exponents(times)
        write_csv(out["rpca_rates.csv"], falling)
        write_csv(out["rpca_exponents.csv"], laws)
        for analysis in ("pca", "cca"):
            if f"rpca_{analysis}.svg" in out:
                save(agreement_figure(errors, merits, analysis, titles), out, f"rpca_{analysis}")
        if "rpca_scatter.svg" in out:
            save(scatter_figure(scores, titles), out, "rpca_scatter")
        if "rpca_times.svg" in out:
            save(times_figure(times, titles), out, "rpca_times")
        sentences = {
            "rpca": on_agreement(errors, titles),
            "rpca_pca": on_errors(errors, falling, "pca", titles),
            "rpca_cca": on_errors(errors, falling, "cca", titles),
            "rpca_scatter": on_scatter(scores, titles),
            "rpca_times": on_times(laws, titles),
        }
        write_sentences(out, sentences)
