"""The three reports of the extensions stage, from its CSVs or the reason why there are none."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import matplotlib
import pandas as pd
from matplotlib.figure import Figure

from workflow.lib.figures import STYLE
from workflow.lib.outcomes import read_outcomes
from workflow.stages.extensions import clustering_report as clustering
from workflow.stages.extensions import dependence_report as dependence
from workflow.stages.extensions import discriminants_report as discriminants

Files = Mapping[str, Sequence[str]]
Titles = Mapping[str, str]


class Report(NamedTuple):
    """What one part of the stage leaves for its reader.

    Attributes
    ----------
    table : str
        Markdown.
    summary : DataFrame
        The numbers of the table at full precision.
    figure : Figure
    """

    table: str
    summary: pd.DataFrame
    figure: Figure


def report_on(name: str, files: Files, titles: Titles) -> Report:
    """Make one report.

    Parameters
    ----------
    name : {"clustering", "discriminants", "dependence"}
    files : mapping
        CSVs of the stage under ``shapes``, ``points`` and the names above; none where the run
        leaves a part out.
    titles : mapping
        Of datasets and sets of rows.
    """
    make = {"clustering": _clustering, "discriminants": _discriminants, "dependence": _dependence}
    return make[name](files, titles)


def _clustering(files: Files, titles: Titles) -> Report:
    scores, reasons = read_outcomes(
        [*files.get("shapes", []), *files.get("clustering", [])], clustering.COLUMNS
    )
    points, _ = read_outcomes(files.get("points", []), ["data", "x1", "x2", "method", "cluster"])
    summary = clustering.clustering_summary(scores)
    missing = {titles[experiment]: reason for experiment, reason in reasons.items()}
    table = clustering.clustering_table(summary, titles, missing)
    return Report(table, summary, clustering.clustering_figure(summary, points, titles))


def _discriminants(files: Files, titles: Titles) -> Report:
    errors, reasons = read_outcomes(files["discriminants"], discriminants.COLUMNS)
    summary = discriminants.discriminants_summary(errors)
    title = titles["discriminants"]
    if reasons:
        reason = f"**{title}**: not run, {reasons['discriminants']}\n"
        return Report(reason, summary, _blank(f"{title}: not run"))
    table = discriminants.discriminants_table(summary, title)
    return Report(table, summary, discriminants.discriminants_figure(summary, title))


def _dependence(files: Files, titles: Titles) -> Report:
    power, _ = read_outcomes(files["dependence"], dependence.COLUMNS)
    table = dependence.dependence_table(power)
    return Report(table, power, dependence.dependence_figure(power))


def _blank(text: str) -> Figure:
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(4.2, 1.0))
        figure.text(0.5, 0.5, text, ha="center", va="center")
    return figure
