"""Tables and figures of stage rpca."""

from workflow.lib.figures import save
from workflow.lib.job import by_name, job
from workflow.lib.outcomes import read_outcomes
from workflow.lib.provenance import write_csv, write_text
from workflow.lib.sentences import write_sentences
from workflow.stages.rpca import sentences as say
from workflow.stages.rpca import tables
from workflow.stages.rpca.figures import agreement_figure, scatter_figure, times_figure

if __name__ == "__main__":
    with job(snakemake) as asked:
        given, out, titles = snakemake.input, by_name(snakemake.output), asked.titles
        errors, not_run = read_outcomes(given.errors, tables.ERRORS_COLUMNS)
        merits, _ = read_outcomes(given.merits, tables.MERITS_COLUMNS)
        scores, _ = read_outcomes(given.scores, tables.SCORES_COLUMNS)
        times, _ = read_outcomes(given.get("times", []), tables.TIMES_COLUMNS)
        rates, laws = tables.rates(errors), tables.exponents(times)
        write_text(out["rpca.md"], tables.table(errors, merits, times, not_run, titles))
        write_csv(out["rpca.csv"], tables.errors_summary(errors))
        write_csv(out["rpca_merits.csv"], tables.merits_summary(merits))
        write_csv(out["rpca_rates.csv"], rates)
        write_csv(out["rpca_exponents.csv"], laws)
        figures = {
            "rpca_pca": agreement_figure(errors, merits, "pca", titles),
            "rpca_cca": agreement_figure(errors, merits, "cca", titles),
            "rpca_scatter": scatter_figure(scores, titles),
            "rpca_times": times_figure(times, titles),
        }
        for name, figure in figures.items():
            if f"{name}.svg" in out:
                save(figure, out, name)
        said = {
            "rpca": say.on_agreement(errors, titles),
            "rpca_pca": say.on_errors(errors, rates, "pca", titles),
            "rpca_cca": say.on_errors(errors, rates, "cca", titles),
            "rpca_scatter": say.on_scatter(scores, titles),
            "rpca_times": say.on_times(laws, titles),
        }
        write_sentences(out, said)
