"""Tables and figures of stage extensions."""

from workflow.lib.figures import save
from workflow.lib.job import by_name, job
from workflow.lib.outcomes import read_outcomes
from workflow.lib.provenance import write_csv, write_text
from workflow.lib.sentences import write_sentences
from workflow.stages.extensions import figures, tables
from workflow.stages.extensions import sentences as say

SHAPE_TITLES = {"rings": "two rings", "moons": "two moons"}

if __name__ == "__main__":
    with job(snakemake) as asked:
        given, out, titles = snakemake.input, by_name(snakemake.output), asked.titles
        said = {}
        if files := [*given.get("shapes", []), *given.get("clustering", [])]:
            scores, not_run = read_outcomes(files, tables.CLUSTERING_COLUMNS)
            points, _ = read_outcomes(given.get("points", []), tables.POINT_COLUMNS)
            pictures = titles.get("clustering")
            sets = SHAPE_TITLES | {"subset": f"{pictures}, some", "all": f"{pictures}, all"}
            missing = {titles[part]: reason for part, reason in not_run.items()}
            summary = tables.clustering_summary(scores)
            table = tables.clustering_table(summary, sets, missing)
            write_text(out["extensions_clustering.md"], table)
            write_csv(out["extensions_clustering.csv"], summary)
            figure = figures.clustering_figure(summary, points, sets)
            save(figure, out, "extensions_clustering")
            said["extensions_clustering"] = say.on_clustering(summary, sets)
        if files := given.get("discriminants", []):
            errors, not_run = read_outcomes(files, tables.ERROR_COLUMNS)
            title = titles["discriminants"]
            summary = tables.discriminants_summary(errors)
            table = tables.discriminants_table(summary, title, not_run.get("discriminants"))
            write_text(out["extensions_discriminants.md"], table)
            write_csv(out["extensions_discriminants.csv"], summary)
            save(figures.discriminants_figure(summary, title), out, "extensions_discriminants")
            said["extensions_discriminants"] = say.on_discriminants(summary, title)
        if files := given.get("dependence", []):
            power, _ = read_outcomes(files, tables.POWER_COLUMNS)
            write_csv(out["extensions_dependence.csv"], power[tables.POWER_COLUMNS])
            save(figures.dependence_figure(power), out, "extensions_dependence")
            said["extensions_dependence"] = say.on_dependence(power)
        write_sentences(out, said)
