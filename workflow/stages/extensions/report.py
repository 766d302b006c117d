"""Tables, sentences and figures of stage extensions."""

from collections.abc import Mapping
from typing import Any

import pandas as pd

from workflow.lib.chart import save
from workflow.lib.job import by_name, job
from workflow.lib.outcomes import Outcomes, gathered
from workflow.lib.provenance import write_csv, write_text
from workflow.lib.tables import (
    number,
    plus_minus,
    titled_table,
    write_numbers,
)
from workflow.stages.extensions.figures import (
    CLASSIFIERS,
    CLUSTERINGS,
    clustering_figure,
    dependence_figure,
    discriminants_figure,
    shapes_figure,
)

SHAPE_TITLES = {"rings": "two rings", "moons": "two moons"}
_SCORES = ["nmi", "nmi_exact", "floored", "seconds"]
CLUSTERING_COLUMNS = ["data", "n", "method", "m", "repeat", *_SCORES]
POINT_COLUMNS = ["data", "x1", "x2", "method", "cluster"]
_ROWS = ["n_train", "n_test"]
ERROR_COLUMNS = ["method", "m", "repeat", "chosen", "tune_error", "test_error", *_ROWS, "seconds"]
POWER_COLUMNS = ["pattern", "noise", "method", "n", "repeats", "critical", "power"]


def clustering_summary(scores: pd.DataFrame) -> pd.DataFrame:
    """Mean and standard deviation over repeats of the rows of parts shapes and clustering."""
    methods = pd.Categorical(scores["method"], list(CLUSTERINGS))
    data = pd.Categorical(scores["data"], scores["data"].unique())
    groups = scores.assign(data=data, method=methods).groupby(
        ["data", "method", "m"], observed=True, dropna=False
    )
    summary = groups.agg(
        n=("n", "first"),
        repeats=("repeat", "nunique"),
        nmi_mean=("nmi", "mean"),
        nmi_sd=("nmi", "std"),
        nmi_exact_mean=("nmi_exact", "mean"),
        nmi_exact_sd=("nmi_exact", "std"),
        floored=("floored", "mean"),
        seconds=("seconds", "mean"),
    )
    return summary.reset_index()


def clustering_table(
    summary: pd.DataFrame, titles: Mapping[str, str], not_run: Mapping[str, str]
) -> str:
    """Lay out a `clustering_summary` in Markdown, one block per set of rows by ``data``.

    ``titles`` are those of the sets; ``not_run`` is the reason by the title of what is missing.
    """
    header = ["method", "m", "with classes", "with exact clusters", "floored degrees", "seconds"]
    blocks = []
    for name, rows in summary.groupby("data", observed=True):
        n, repeats = rows["n"].iloc[0], rows["repeats"].max()
        lead = f"**Clusters of {titles[str(name)]}**: normalised mutual information (n = {n}, "
        cells = [
            [
                CLUSTERINGS[row["method"]],
                number(row["m"], ".0f"),
                plus_minus(row["nmi_mean"], row["nmi_sd"]),
                plus_minus(row["nmi_exact_mean"], row["nmi_exact_sd"]),
                number(row["floored"], ".0f"),
                number(row["seconds"], ".1f"),
            ]
            for row in rows.to_dict("records")
        ]
        blocks.append(titled_table(f"{lead}repeats: {repeats})", header, cells))
        if "exact" not in set(rows["method"]):
            gigabytes = f"{8 * n**2 / 1e9:.2g} GB"
            blocks.append(f"Exact clustering would need {gigabytes} for the kernel matrix.\n")
    missing = [f"**{title}**: not run, {reason}\n" for title, reason in not_run.items()]
    return "\n".join([*blocks, *missing])


def discriminants_summary(errors: pd.DataFrame) -> pd.DataFrame:
    """Mean and standard deviation over repeats, in per cent, of the errors of classifiers."""
    methods = pd.Categorical(errors["method"], list(CLASSIFIERS))
    groups = errors.assign(method=methods, error=100 * errors["test_error"]).groupby(
        ["method", "m"], observed=True, dropna=False
    )
    summary = groups.agg(
        repeats=("repeat", "nunique"),
        n_train=("n_train", "first"),
        n_test=("n_test", "first"),
        chosen_least=("chosen", "min"),
        chosen_most=("chosen", "max"),
        error_mean=("error", "mean"),
        error_sd=("error", "std"),
        seconds=("seconds", "mean"),
    )
    return summary.reset_index()


def discriminants_table(summary: pd.DataFrame, title: str, not_run: str | None = None) -> str:
    """Lay out a `discriminants_summary`, the smallest error in bold; or why there is none."""
    if not_run:
        return f"**{title}**: not run, {not_run}\n"
    first, best = summary.iloc[0], summary["error_mean"].min()
    cells = []
    for row in summary.to_dict("records"):
        error = plus_minus(row["error_mean"], row["error_sd"])
        chosen = dict.fromkeys(number(row[f"chosen_{end}"], "g") for end in ("least", "most"))
        name, m = CLASSIFIERS[row["method"]], number(row["m"], ".0f")
        error = f"**{error}**" if row["error_mean"] == best else error
        cells.append([name, m, " to ".join(chosen), error, number(row["seconds"], ".1f")])
    lead = (
        f"**Classes of {title}**: error on test rows ({first['n_train']} training rows, "
        f"{first['n_test']} test rows, repeats: {first['repeats']})"
    )
    return titled_table(lead, ["method", "m", "reg or C", "test error, %", "seconds"], cells)


def of_clustering(summary: pd.DataFrame) -> dict[str, Any]:
    """Agreement with the classes by set of rows and method, at the largest m."""
    last = summary.sort_values("m").groupby(["data", "method"], observed=True).tail(1)
    found: dict[str, Any] = {}
    for row in last.to_dict("records"):
        found.setdefault(str(row["data"]), {})[str(row["method"])] = row["nmi_mean"]
    return found


def of_discriminants(summary: pd.DataFrame) -> dict[str, Any]:
    """Give the smallest mean test error of each classifier."""
    least = summary.groupby("method", observed=True)["error_mean"].min()
    return {str(method): error for method, error in least.items()}


def of_dependence(power: pd.DataFrame) -> dict[str, Any]:
    """Mean power over noise, by pattern and coefficient, and over all patterns."""
    found: dict[str, Any] = {"all": power.groupby("method")["power"].mean().to_dict()}
    for pattern, rows in power.groupby("pattern", sort=False):
        found[str(pattern)] = rows.groupby("method")["power"].mean().to_dict()
    return found


def report(outcomes: Outcomes, asked: Any, given: Any, out: Mapping[str, str]) -> None:
    """Write the tables and figures of the stage, and what they say.

    ``asked`` are the settings of the report, ``given`` the other files it reads, ``out`` the files
    it writes by their names.
    """
    titles = asked.titles
    found: dict[str, Any] = {}
    if {"shapes", "clustering"} & outcomes.texts.keys():
        scores, not_run = outcomes.rows("shapes", "clustering", columns=CLUSTERING_COLUMNS)
        points, _ = outcomes.rows("points", columns=POINT_COLUMNS)
        pictures = titles.get("clustering")
        sets = SHAPE_TITLES | {"subset": f"{pictures}, some", "all": f"{pictures}, all"}
        missing = {titles[part]: reason for part, reason in not_run.items()}
        summary = clustering_summary(scores)
        table = clustering_table(summary, sets, missing)
        write_text(out["extensions_clustering.md"], table)
        write_csv(out["extensions_clustering.csv"], summary)
        save(clustering_figure(summary, sets), out, "extensions_clustering", columns=2)
        if "extensions_shapes.svg" in out:
            save(shapes_figure(points, sets), out, "extensions_shapes", columns=4)
        found["clustering"] = of_clustering(summary)
    if "discriminants" in outcomes.texts:
        errors, not_run = outcomes.rows("discriminants", columns=ERROR_COLUMNS)
        title = titles["discriminants"]
        summary = discriminants_summary(errors)
        table = discriminants_table(summary, title, not_run.get("discriminants"))
        write_text(out["extensions_discriminants.md"], table)
        write_csv(out["extensions_discriminants.csv"], summary)
        save(discriminants_figure(summary, title), out, "extensions_discriminants")
        found["discriminants"] = of_discriminants(summary)
    if "dependence" in outcomes.texts:
        power, _ = outcomes.rows("dependence", columns=POWER_COLUMNS)
        write_csv(out["extensions_dependence.csv"], power[POWER_COLUMNS])
        save(dependence_figure(power), out, "extensions_dependence", columns=3)
        found["dependence"] = of_dependence(power)
    write_numbers(out["numbers.json"], found)


if __name__ == "__main__":
    with job(snakemake) as asked:
        outcomes = gathered(snakemake, asked)
        report(outcomes, asked, snakemake.input, by_name(snakemake.output.shown))
