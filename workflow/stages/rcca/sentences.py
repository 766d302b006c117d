"""What the tables and figures of stage rcca show, each in one sentence."""

from collections.abc import Iterator

import pandas as pd

from workflow.lib.tables import (
    BASELINE_NAMES,
    FEATURES,
    MAP_NAMES,
    at_largest_m,
    by_title,
    minutes,
    plus_minus,
    sentence,
    span,
)
from workflow.stages.rcca.grid_tables import tuning
from workflow.stages.rcca.tables import (
    Series,
    Titles,
    by_model,
    leaked_shares,
    of_series,
    with_protocol,
)

_METHODS = {"linear_cca": "linear CCA", **FEATURES, **BASELINE_NAMES}
_PROTOCOLS = {"utterances": "with whole utterances held out", "frames": "on random frames"}


def on_table1(summary: pd.DataFrame, titles: Titles) -> str:
    """Say how far our sums are from the paper's or, where it has none, what each method reaches."""
    return by_title(summary, titles, lambda rows: _beside_paper(rows) or _reached(rows), "")


def _beside_paper(rows: pd.DataFrame) -> list[str]:
    return [
        f"{name} {_level(differences)}"
        for kind, name in FEATURES.items()
        if len(differences := rows.loc[rows["feature_map"] == kind, "difference"].dropna())
    ]


def _level(differences: "pd.Series[float]") -> str:
    if differences.min() > 0:
        text = f"{span(differences)} above"
    elif differences.max() < 0:
        text = f"{span(-differences)} below"
    else:
        text = f"within {differences.abs().max():.2f} of"
    return f"{text} the paper's sums{' at every m' if len(differences) > 1 else ''}"


def _reached(rows: pd.DataFrame) -> list[str]:
    """Name the sum of each method, the largest first: at its largest m or number of rows."""
    largest = rows.sort_values(["m", "n_train_max"]).groupby("method", sort=False).tail(1)
    largest = largest.sort_values("test_mean", ascending=False)
    sums = zip(largest["method"], largest["test_mean"], strict=True)
    *first, last = [f"{_METHODS[method]} {mean:.2f}" for method, mean in sums]
    return [*first, f"{last} of at most {rows['components'].iloc[0]}"]


def on_protocols(over: pd.DataFrame, titles: Titles) -> str:
    """Set held-out utterances against random frames, in the first series of the run."""
    fixed = over[over["reg"] == "fixed"]
    random = fixed[fixed["feature_map"].isin(list(FEATURES))]
    if not len(random):
        return ""
    name = random["series"].iloc[0]
    rows = random[random["series"] == name]
    linear = fixed[(fixed["series"] == name) & (fixed["feature_map"] == "linear")]
    levels = linear["test_mean"].map("linear CCA gives {:.1f}".format)
    clauses = [
        f"{words} {', '.join([*_moves(own), *levels[linear['protocol'] == protocol]])}"
        for protocol, words in _PROTOCOLS.items()
        if len(own := rows[rows["protocol"] == protocol])
    ]
    shared = rows.loc[rows["protocol"] == "frames", "leaked"].max()
    if shared > 0:
        clauses.append(f"{100 * shared:.0f} % of the random test rows share frames with training")
    return sentence(clauses, f"{titles[name]}, m = {span(rows['m'], '.0f')}")


def _moves(rows: pd.DataFrame) -> Iterator[str]:
    """Say where the sums of each map go as m grows."""
    for kind, name in FEATURES.items():
        own = rows[rows["feature_map"] == kind].sort_values("m")
        if len(own):
            first, last = own["test_mean"].iloc[0], own["test_mean"].iloc[-1]
            verb = "rise" if last > first else "fall"
            ends = f"{verb} from {first:.1f} to" if f"{first:.1f}" != f"{last:.1f}" else "give"
            known = own["paper"].dropna()
            paper = f" (paper: {span(known, '.1f')})" if len(known) else ""
            yield f"{name} {ends} {last:.1f}{paper}"


def on_floor(rows: pd.DataFrame) -> str:
    """Say which part of the sums is noise."""
    if not len(rows):
        return ""
    share = rows["floor_mean"] / rows["test_mean"]
    return (
        "With the second view's test rows permuted the same models still score "
        f"{span(rows['floor_mean'])}, which is {span(100 * share, '.1f')} % of the sums."
    )


def on_leaks(leaks: pd.DataFrame, titles: Titles) -> str:
    """Say in how many experiments training rows give test rows away, and where most."""
    share = leaked_shares(leaks)
    if not len(share):
        return ""
    if share.max() == 0:
        return f"Training rows give no test row away (experiments: {len(share)})."
    return (
        f"In {(share > 0).sum()} of {len(share)} experiments training rows give test rows away, "
        f"most in {titles[str(share.idxmax())]}: {100 * share.max():.1f} %."
    )


def on_minutes(summary: pd.DataFrame, titles: Titles) -> str:
    """Say what fits took on one core, and how many times as long the paper's and deep CCA took."""
    timed = summary.dropna(subset="minutes_one_core")
    of_maps = timed.loc[timed["feature_map"].notna(), "experiment"]
    return by_title(timed[timed["experiment"].isin(of_maps)], titles, _took, "")


def _took(rows: pd.DataFrame) -> Iterator[str]:
    random = rows[rows["feature_map"].isin(list(FEATURES))]
    if len(random):
        ends = dict.fromkeys(minutes(end) for end in random["minutes_one_core"].agg(["min", "max"]))
        yield f"RCCA takes {' to '.join(ends)} minutes on one core"
        if random["speed_up"].notna().any():
            yield f"the paper's {span(random['speed_up'], '.1f')} times as long"
    for row in rows[rows["method"].isin(["dcca", "dcca2013"])].to_dict("records"):
        yield f"{BASELINE_NAMES[row['method']]} {minutes(row['minutes_one_core'])} CPU minutes"


def on_regs(found: pd.DataFrame, titles: Titles) -> str:
    """Say how much reg changes at the largest m, and which value is nearest to the paper."""
    clauses = []
    beside = found.dropna(subset="difference") if found["difference"].notna().any() else found
    random = beside[beside["feature_map"].isin(list(FEATURES))]
    for (name, kind), own in random.groupby(["experiment", "feature_map"], observed=True):
        rows = at_largest_m(own)
        text = (
            f"{titles[str(name)]}, {FEATURES[str(kind)]} at m = {rows['m'].iloc[0]:.0f}: "
            f"{span(rows['test_mean'])} over reg = {span(rows['reg'], 'g')}"
        )
        if rows["difference"].notna().any():
            nearest = rows.iloc[rows["difference"].abs().argmin()]
            text += f", nearest to the paper with {nearest['reg']:g} ({nearest['difference']:+.2f})"
        clauses.append(text)
    return sentence(clauses)


def on_linear(linear: pd.DataFrame, titles: Titles) -> str:
    """Say what linear CCA reaches with and without tuning."""
    clauses = []
    for name, rows in linear.groupby("experiment", sort=False):
        sums = [
            f"{tuning(row['tuned'])} {plus_minus(row['test_mean'], row['test_sd'])}"
            + (f" ({row['difference']:+.2f} against the paper)" if row["paper"] > 0 else "")
            for row in rows.to_dict("records")
        ]
        clauses.append(f"{titles[str(name)]}: {', '.join(sums)}")
    return sentence(clauses, "test sum of linear CCA")


def on_overfitting(found: pd.DataFrame) -> str:
    """Say whether degrees of freedom or numbers of features order the gaps, and how well."""
    random = found[found["feature_map"].isin(list(FEATURES))]
    if not len(random):
        return ""
    ranks = {name: span(rows["spearman"]) for name, rows in random.groupby("predictor")}
    return sentence(
        [
            "rank correlation of the gap between training and test rows with (d_x + d_y)/n "
            f"{ranks['effective_dimension']}, with 2m/n {ranks['m_over_n']}",
            "from training rows the test correlation is foretold within "
            f"{span(random['forecast_error'])} per component",
        ]
    )


def on_choice(choice: pd.DataFrame, titles: Titles) -> str:
    """Say what cross-validation of reg gains, apart for random frames and held-out utterances."""
    random = choice[choice["feature_map"].isin(list(FEATURES))]
    clauses = [
        f"{with_protocol(titles[str(name)], str(protocol))} {span(rows['gain_mean'], '+.2f')}"
        for (name, protocol), rows in random.groupby(["experiment", "protocol"], sort=False)
    ]
    return sentence(clauses, "gain in test sum by choosing reg with cross-validation")


def on_variants(compared: pd.DataFrame, titles: Titles) -> str:
    """Name the variant that changes most."""
    if not len(compared):
        return ""
    row = compared.iloc[compared["difference_mean"].abs().argmax()]
    return (
        f"Of {compared['experiment'].nunique()} variants the largest change is "
        f"{row['difference_mean']:+.2f}: {titles[row['experiment']]} "
        f"({MAP_NAMES[row['feature_map']]}, m = {row['m']:.0f})."
    )


def on_baselines(baselines: pd.DataFrame, titles: Titles, series: Series) -> str:
    """Say by how much RCCA at its largest m exceeds deep CCA; that of a series in a range."""
    deep = baselines[baselines["method"].isin(["dcca", "dcca2013"])]
    names, protocols = of_series(deep["experiment"], series)
    deep = deep.assign(name=names, protocol=protocols)
    clauses = [
        f"{with_protocol(titles[str(name)], str(protocol))}: "
        + ", ".join(_against(str(method), own) for method, own in rows.groupby("method"))
        for (name, protocol), rows in deep.groupby(["name", "protocol"], sort=False)
    ]
    return sentence(clauses, "test sum of RCCA at the largest m")


def _against(method: str, rows: pd.DataFrame) -> str:
    known = {kind: rows[f"{kind}_less"].dropna() for kind in FEATURES if f"{kind}_less" in rows}
    words = [f"{FEATURES[kind]} {span(less, '+.1f')}" for kind, less in known.items() if len(less)]
    return f"{' and '.join(words)} against {BASELINE_NAMES[method]}"


def on_model(inference: pd.DataFrame, titles: Titles) -> str:
    """Say how many components of each model are more than chance, the best model first."""
    clauses = []
    for _, title, rows in by_model(inference, titles):
        real = rows.loc[rows["p_value"] <= 0.05, "test_correlation"]
        listed = ", ".join(f"{r:.2f}" for r in real[:3]) + (", …" if len(real) > 3 else "")
        what = "component" if len(real) == 1 else "components"
        clauses.append(
            f"{title}, finds {len(real)} shared {what} (correlation on test rows {listed})"
            if len(real)
            else f"{title}, finds none"
        )
    return sentence(clauses)
