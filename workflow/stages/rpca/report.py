"""Tables, sentences and figures of stage rpca: agreement with exact methods, cost against n."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from workflow.lib.chart import save
from workflow.lib.job import by_name, job
from workflow.lib.outcomes import Outcomes, gathered
from workflow.lib.provenance import write_csv, write_text
from workflow.lib.tables import (
    at_largest_m,
    by_experiment,
    fitted_exponent,
    number,
    titled_table,
    write_numbers,
)
from workflow.stages.rpca.figures import (
    MERITS,
    NAMES,
    VALUES,
    agreement_figure,
    power,
    scatter_figure,
    times_figure,
)

Titles = Mapping[str, str]

MEASURES = ("value_error", "largest_angle", "mean_angle", "kernel_error", "captured")
# Those that the paper's theory lets fall like m^-1/2.
RATED = ("value_error", "kernel_error")
# Of seconds against n, as Sections 3 and 4 of the paper state it.
CLAIMED = {"exact": 3, "linear": 1, "fourier": 1, "nystroem": 1}
_OCTAVES = 3
KEYS = ["experiment", "analysis", "method"]
ERRORS_COLUMNS = [*KEYS, "n", "components", "m", "repeat", *MEASURES]
MERITS_COLUMNS = [*KEYS, "m", "repeat", "components", "merit"]
SCORES_COLUMNS = [*KEYS, "m", "label", "component_1", "component_2"]
TIMES_COLUMNS = [*KEYS, "threads", "n", "m", "repeat", "seconds"]
EVALUATION_COLUMNS = ["experiment", "method", "n", "columns", "m", "repeat", "seconds"]
EVALUATED = {"fourier": "Fourier", "nystroem": "Nyström", "fastfood": "Fastfood"}
# Seconds of the first map over those of the second.
RATIOS = (("fourier", "fastfood"), ("nystroem", "fourier"))
_LAW_COLUMNS = [
    *KEYS, "m", "threads", "n_from", "n_to", "seconds", "exponent", "exponent_error",
    "freedom", "factor", "claimed",
]  # fmt: skip


def errors_summary(errors: pd.DataFrame) -> pd.DataFrame:
    """Mean, least and largest value over repeats of every measure of agreement at each m.

    Columns are ``<measure>_mean``, ``_min`` and ``_max``; what is not measured for CCA is missing.
    """
    spread = {f"{each}_{how}": (each, how) for each in MEASURES for how in ("mean", "min", "max")}
    counts = {"n": ("n", "first"), "components": ("components", "first")}
    groups = errors.groupby([*KEYS, "m"], sort=False)
    return groups.agg(**counts, repeats=("repeat", "nunique"), **spread).reset_index()


def merits_summary(merits: pd.DataFrame) -> pd.DataFrame:
    """Mean, least and largest merit over repeats, per method, m and number of components."""
    groups = merits.groupby([*KEYS, "m", "components"], sort=False)["merit"]
    return groups.agg(["mean", "min", "max"]).add_prefix("merit_").reset_index()


def rates(errors: pd.DataFrame) -> pd.DataFrame:
    """Exponents of the errors against m: column ``rate``, with its standard error over repeats.

    They are fitted in each repeat, whose sizes share features, and averaged over the independent
    repeats.
    """
    records = []
    for keys, group in errors.groupby(KEYS, sort=False):
        repeats = [each for _, each in group.groupby("repeat") if each["m"].nunique() > 1]
        for measure in RATED if repeats else ():
            rate = pd.Series([fitted_exponent(each["m"], each[measure]).value for each in repeats])
            records.append((*keys, measure, rate.mean(), rate.sem(), len(repeats) - 1))
    return pd.DataFrame(records, columns=[*KEYS, "measure", "rate", "rate_error", "freedom"])


def exponents(times: pd.DataFrame) -> pd.DataFrame:
    """Fit seconds = factor·n^exponent to the medians of the largest three octaves of n.

    Smaller n are left out, since there what does not depend on n counts. ``n_from`` and ``n_to``
    are the range of n of the fit, ``seconds`` the median at its end.
    """
    records = []
    for keys, group in times.groupby(KEYS, sort=False):
        medians = group.groupby("n")["seconds"].median()
        fitted = medians[medians.index >= medians.index.max() / 2**_OCTAVES]
        if len(fitted) > 1:
            n = fitted.index.to_numpy(float)
            law = fitted_exponent(n, fitted)
            factor = np.exp(np.mean(np.log(fitted) - law.value * np.log(n)))
            given = *keys, *group[["m", "threads"]].iloc[0], fitted.index[0], fitted.index[-1]
            found = fitted.iloc[-1], law.value, law.error, len(fitted) - 2, factor
            records.append((*given, *found, CLAIMED.get(str(keys[-1]))))
    laws = pd.DataFrame(records, columns=_LAW_COLUMNS)
    return laws.astype(dict.fromkeys(["m", "threads", "claimed"], "Int64"))


def evaluation_summary(evaluation: pd.DataFrame) -> pd.DataFrame:
    """Median seconds of each map at every m, and ratios within a repeat: median, least, largest."""
    keys = ["experiment", "columns", "n", "m"]
    seconds = evaluation.pivot(index=[*keys, "repeat"], columns="method", values="seconds")
    seconds = seconds.reindex(columns=list(EVALUATED))
    medians = seconds.groupby(keys).median()
    for one, other in RATIOS:
        ratio = (seconds[one] / seconds[other]).groupby(keys).agg(["median", "min", "max"])
        medians = medians.join(ratio.add_prefix(f"{one}_over_{other}_"))
    return medians.reset_index()


def evaluation_table(summary: pd.DataFrame, not_run: Mapping[str, str], titles: Titles) -> str:
    """Lay out the seconds of each map and their ratios, one block per experiment."""
    header = ["m", *EVALUATED.values()]
    header += [f"{EVALUATED[one]} over {EVALUATED[other]}" for one, other in RATIOS]
    groups = dict(iter(summary.groupby("experiment")))

    def block(name: str, title: str) -> str:
        sizes = groups[name].iloc[0]
        rows = [
            [str(row["m"]), *(f"{row[each]:.3f}" for each in EVALUATED)]
            + [_ratio(row, f"{one}_over_{other}") for one, other in RATIOS]
            for row in groups[name].to_dict("records")
        ]
        lead = f"**{title}**: seconds for {sizes['n']} rows of {sizes['columns']} columns"
        return titled_table(lead, header, rows)

    shown = {name: title for name, title in titles.items() if name in {*groups, *not_run}}
    return by_experiment(shown, not_run, block)


def _ratio(row: Mapping[Any, Any], name: str) -> str:
    return f"{row[f'{name}_median']:.2f} ({row[f'{name}_min']:.2f} to {row[f'{name}_max']:.2f})"


def table(
    errors: pd.DataFrame,
    merits: pd.DataFrame,
    times: pd.DataFrame,
    not_run: Mapping[str, str],
    titles: Titles,
) -> str:
    """Lay out the table of the stage: a block per experiment and analysis, and one of times.

    Of the randomized methods the largest m is shown; the figures and CSVs hold the others.
    """
    frames = errors_summary(errors), merits_summary(merits), rates(errors)

    def blocks(name: str, title: str) -> str:
        found = []
        for analysis in NAMES:
            summary, *others = (
                each[(each["experiment"] == name) & (each["analysis"] == analysis)]
                for each in frames
            )
            if len(summary):
                found.append(_agreement_block(title, analysis, summary, *others))
        own = times[times["experiment"] == name]
        return "\n".join([*found, *([_times_block(title, own)] if len(own) else [])])

    return by_experiment(titles, not_run, blocks)


def _agreement_block(
    title: str, analysis: str, summary: pd.DataFrame, merit: pd.DataFrame, rate: pd.DataFrame
) -> str:
    first, sizes = summary.iloc[0], sorted(merit["components"].unique())
    powers = {(row["method"], row["measure"]): power(row, "rate") for _, row in rate.iterrows()}
    rows = []
    for method, name in NAMES[analysis].items():
        own = at_largest_m(merit[merit["method"] == method]).set_index("components")
        if not len(own):
            continue
        cells = ["–"] * 5
        for row in at_largest_m(summary[summary["method"] == method]).to_dict("records"):
            value_power, kernel_power = (powers.get((method, measure), "–") for measure in RATED)
            cells = [f"{row['value_error_mean']:.2e}", value_power]
            cells += [f"{row['mean_angle_mean']:.2f}°"]
            cells += [f"{row['kernel_error_mean']:.2e}", kernel_power]
        cells += [number(each, ".3f") for each in own["merit_mean"].reindex(sizes)]
        rows.append([name, str(own["m"].iloc[0]), *cells])
    lead = (
        f"**{title}, {NAMES[analysis]['exact'].removeprefix('exact ')}**: n = {first['n']} rows, "
        f"{first['components']} components, draws of the features: {first['repeats']}"
    )
    header = ["method", "m", f"error of {VALUES[analysis]}", "as m^", "mean angle", "error of K"]
    header += ["as m^", *(MERITS[analysis].format(k) for k in sizes)]
    return titled_table(lead, header, rows)


def _times_block(title: str, times: pd.DataFrame) -> str:
    most, rows = times["n"].max(), []
    for row in exponents(times).to_dict("records"):
        name, seconds = NAMES[row["analysis"]][row["method"]], f"{row['seconds']:.3g} s"
        extrapolated = f"{row['factor'] * most ** row['exponent']:.2g} s, extrapolated"
        rows.append(
            [
                name,
                number(row["m"], "d"),
                f"{row['n_from']} to {row['n_to']}",
                power(row, "exponent"),
                number(row["claimed"], "d"),
                seconds,
                seconds if row["n_to"] == most else extrapolated,
            ]
        )
    lead = f"**{title}, wall time** (threads: {times['threads'].iloc[0]})"
    header = ["method", "m", "n", "as n^", "paper", "at the largest n", f"at n = {most}"]
    return titled_table(lead, header, rows)


def numbers(summary: pd.DataFrame, laws: pd.DataFrame, times: pd.DataFrame) -> dict[str, Any]:
    """Give angles at the largest m, and seconds at the largest n, if need be extrapolated."""
    found: dict[str, Any] = {}
    for (name, analysis), rows in summary.groupby(["experiment", "analysis"], sort=False):
        own: dict[str, Any] = {"n": rows["n"].iloc[0]}
        for row in at_largest_m(rows).to_dict("records"):
            own[row["method"]] = {"angle": row["mean_angle_mean"], "m": row["m"]}
        found.setdefault(str(name), {})[str(analysis)] = own
    for (name, analysis), rows in laws.groupby(["experiment", "analysis"], sort=False):
        timed = times[(times["experiment"] == name) & (times["analysis"] == analysis)]
        most = timed["n"].max()
        seconds = {
            row["method"]: {
                "exponent": row["exponent"],
                "seconds": row["factor"] * most ** row["exponent"]
                if row["n_to"] < most
                else row["seconds"],
                "extrapolated": row["n_to"] < most,
            }
            for row in rows.to_dict("records")
        }
        own = found.setdefault(str(name), {}).setdefault(str(analysis), {})
        own["times"] = {"n": most, **seconds}
    return found


def report(outcomes: Outcomes, asked: Any, given: Any, out: Mapping[str, str]) -> None:
    """Write the tables and figures of the stage, and what they say.

    ``asked`` are the settings of the report, ``given`` the other files it reads, ``out`` the files
    it writes by their names.
    """
    titles = asked.titles
    errors, not_run = outcomes.rows("errors", columns=ERRORS_COLUMNS)
    merits, _ = outcomes.rows("merits", columns=MERITS_COLUMNS)
    scores, _ = outcomes.rows("scores", columns=SCORES_COLUMNS)
    times, _ = outcomes.rows("times", columns=TIMES_COLUMNS)
    evaluation, not_evaluated = outcomes.rows("evaluation", columns=EVALUATION_COLUMNS)
    evaluated = evaluation_summary(evaluation)
    compared = {name: titles[name] for name in titles if name in {*errors["experiment"], *not_run}}
    summary, merit, powers, laws = (
        errors_summary(errors),
        merits_summary(merits),
        rates(errors),
        exponents(times),
    )
    write_text(out["rpca.md"], table(errors, merits, times, not_run, compared))
    write_csv(out["rpca.csv"], summary)
    if "rpca_evaluation.md" in out:
        write_text(out["rpca_evaluation.md"], evaluation_table(evaluated, not_evaluated, titles))
        write_csv(out["rpca_evaluation.csv"], evaluated)
    write_csv(out["rpca_merits.csv"], merit)
    write_csv(out["rpca_rates.csv"], powers)
    write_csv(out["rpca_exponents.csv"], laws)
    figures = {
        "rpca": (agreement_figure(summary, merit, titles), 2),
        "rpca_scatter": (scatter_figure(scores, titles), 4),
        "rpca_times": (times_figure(times, laws, titles), 1),
    }
    for name, (figure, columns) in figures.items():
        if f"{name}.svg" in out:
            save(figure, out, name, columns=columns)
    write_numbers(out["numbers.json"], numbers(summary, laws, times))


if __name__ == "__main__":
    with job(snakemake) as asked:
        outcomes = gathered(snakemake, asked)
        report(outcomes, asked, snakemake.input, by_name(snakemake.output.shown))
