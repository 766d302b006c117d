"""Tables and figures of stage extensions."""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

import pandas as pd
from matplotlib.figure import Figure

from workflow.lib.figures import save
from workflow.lib.job import by_name, job
from workflow.lib.outcomes import read_outcomes
from workflow.lib.provenance import write_csv, write_text
from workflow.lib.sentences import write_sentences
from workflow.stages.extensions import sentences
from workflow.stages.extensions.figures import (
    blank,
    clustering_figure,
    dependence_figure,
    discriminants_figure,
)
from workflow.stages.extensions.tables import (
    CLUSTERING_COLUMNS,
    ERROR_COLUMNS,
    POINT_COLUMNS,
    POWER_COLUMNS,
    clustering_summary,
    clustering_table,
    dependence_table,
    discriminants_summary,
    discriminants_table,
)

Texts = Mapping[str, str]

SHAPE_TITLES = {"rings": "two rings", "moons": "two moons"}


class Report(NamedTuple):
    """What one part of the stage shows.

    Attributes
    ----------
    table : str
        Markdown.
    summary : DataFrame
        The numbers of the table at full precision.
    figure : Figure
    sentence : str
    """

    table: str
    summary: pd.DataFrame
    figure: Figure
    sentence: str


def on_clustering(
    scores: pd.DataFrame, points: pd.DataFrame, not_run: Texts, titles: Texts
) -> Report:
    """Report on the clusters of shapes and of pictures.

    Parameters
    ----------
    scores, points : DataFrame
        Rows of parts shapes and clustering.
    not_run : mapping of part to reason
    titles : mapping of part to the title of its pictures
    """
    pictures = titles.get("clustering")
    sets = SHAPE_TITLES | {"subset": f"{pictures}, some", "all": f"{pictures}, all"}
    summary = clustering_summary(scores)
    missing = {titles[part]: reason for part, reason in not_run.items()}
    table = clustering_table(summary, sets, missing)
    said = sentences.on_clustering(summary, sets)
    return Report(table, summary, clustering_figure(summary, points, sets), said)


def on_discriminants(errors: pd.DataFrame, not_run: Texts, title: str) -> Report:
    """Report on the errors of the classifiers.

    Parameters
    ----------
    errors : DataFrame
        Rows of part discriminants.
    not_run : mapping of part to reason
    title : str
        Of the pictures.
    """
    summary = discriminants_summary(errors)
    if not_run:
        reason = f"**{title}**: not run, {not_run['discriminants']}\n"
        return Report(reason, summary, blank(f"{title}: not run"), "")
    figure = discriminants_figure(summary, title)
    said = sentences.on_discriminants(summary, title)
    return Report(discriminants_table(summary, title), summary, figure, said)


def on_dependence(power: pd.DataFrame) -> Report:
    """Report on the rows of part dependence."""
    said = sentences.on_dependence(power)
    return Report(dependence_table(power), power[POWER_COLUMNS], dependence_figure(power), said)


def _reports(given: Mapping[str, list[str]], titles: Texts) -> Iterator[tuple[str, Report]]:
    """Yield the report of each part that the run has."""
    if files := [*given.get("shapes", []), *given.get("clustering", [])]:
        scores, not_run = read_outcomes(files, CLUSTERING_COLUMNS)
        points, _ = read_outcomes(given.get("points", []), POINT_COLUMNS)
        yield "clustering", on_clustering(scores, points, not_run, titles)
    if files := given.get("discriminants", []):
        errors, not_run = read_outcomes(files, ERROR_COLUMNS)
        yield "discriminants", on_discriminants(errors, not_run, titles["discriminants"])
    if files := given.get("dependence", []):
        power, _ = read_outcomes(files, POWER_COLUMNS)
        yield "dependence", on_dependence(power)


if __name__ == "__main__":
    with job(snakemake) as asked:
        out = by_name(snakemake.output)
        reports = dict(_reports(snakemake.input, asked.titles))
        said = {f"extensions_{name}": report.sentence for name, report in reports.items()}
        write_sentences(out, said)
        for name, report in reports.items():
            write_text(out[f"extensions_{name}.md"], report.table)
            write_csv(out[f"extensions_{name}.csv"], report.summary)
            save(report.figure, out, f"extensions_{name}")
