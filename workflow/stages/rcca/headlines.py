"""The numbers of stage rcca that prose names."""

from typing import Any

import pandas as pd

from workflow.lib.tables import at_largest_m
from workflow.stages.rcca.tables import Titles, by_model, leaked_shares

_RANDOM = ("fourier", "nystroem", "whitened")


def of_table1(summary: pd.DataFrame) -> dict[str, Any]:
    """Give sums and minutes of each method, by experiment: at the least and the largest m."""
    return {str(name): _of(rows) for name, rows in summary.groupby("experiment", sort=False)}


def of_series(over: pd.DataFrame) -> dict[str, Any]:
    """Do the same by series and protocol, at the fixed reg, with the share of leaked test rows."""
    found: dict[str, Any] = {}
    fixed = over[over["reg"] == "fixed"]
    for (name, protocol), rows in fixed.groupby(["series", "protocol"], sort=False):
        leaked = {"leaked": 100 * rows["leaked"].max()}
        found.setdefault(str(name), {})[str(protocol)] = _of(rows) | leaked
    return found


def _of(rows: pd.DataFrame) -> dict[str, Any]:
    found: dict[str, Any] = {"components": rows["components"].iloc[0]}
    for method, own in rows.groupby("method", sort=False):
        ordered = own.sort_values("m")
        last = ordered.iloc[-1]
        numbers = {
            "sum": last["test_mean"],
            "first": ordered["test_mean"].iloc[0],
            "paper": last["paper"],
            "least": own["difference"].min(),
            "most": own["difference"].max(),
            "off": own["difference"].abs().max(),
            "minutes": last.get("minutes_one_core"),
            "paper_minutes": last.get("paper_minutes"),
        }
        if method in _RANDOM:
            found |= {"m": last["m"], "m_first": ordered["m"].iloc[0]}
        found[str(method)] = numbers
    return found


def of_choice(choice: pd.DataFrame) -> dict[str, Any]:
    """Give sums at the fixed and the chosen reg at the largest m, by protocol and map."""
    found: dict[str, Any] = {}
    random = choice[choice["feature_map"].isin(_RANDOM)].fillna({"protocol": ""})
    for (name, protocol, kind), own in random.groupby(["experiment", "protocol", "feature_map"]):
        row = at_largest_m(own).iloc[0]
        sums = {"fixed": row["fixed_mean"], "chosen": row["chosen_mean"], "m": row["m"]}
        found.setdefault(str(name), {}).setdefault(str(protocol) or "rows", {})[str(kind)] = sums
    return found


def of_overfitting(foretold: pd.DataFrame) -> dict[str, Any]:
    """Give what orders the gaps, by rank correlation, and the forecast error, by dataset."""
    found: dict[str, Any] = {}
    for row in foretold[foretold["feature_map"] == "all"].to_dict("records"):
        numbers = {"spearman": row["spearman"], "forecast_error": row["forecast_error"]}
        found.setdefault(str(row["dataset"]), {})[str(row["predictor"])] = numbers
    return found


def of_floor(floors: pd.DataFrame, leaks: pd.DataFrame) -> dict[str, Any]:
    """Count experiments whose test rows are given away; give the sums that chance reaches."""
    share = leaked_shares(leaks)
    return {
        "floor": {"least": floors["floor_mean"].min(), "most": floors["floor_mean"].max()},
        "leaks": {"experiments": len(share), "leaking": int((share > 0).sum())},
    }


def of_baselines(baselines: pd.DataFrame) -> dict[str, Any]:
    """By experiment and method, how much more RCCA finds at its largest m."""
    found: dict[str, Any] = {}
    for row in baselines.to_dict("records"):
        less = {kind: row.get(f"{kind}_less") for kind in _RANDOM}
        found.setdefault(str(row["experiment"]), {})[str(row["method"])] = less
    return {"less": found}


def of_models(inference: pd.DataFrame, leaks: pd.DataFrame, titles: Titles) -> dict[str, Any]:
    """Of each kept model, the best first, the correlations that are more than chance.

    With them the share of the test rows that training rows give away.
    """
    share = leaked_shares(leaks)
    return {
        "models": [
            {
                "title": title,
                "map": kind,
                "real": rows.loc[rows["p_value"] <= 0.05, "test_correlation"].tolist(),
                "p": rows["p_value"].min(),
                "components": len(rows),
                "m": rows["m"].iloc[0],
                "reg": rows["reg"].iloc[0],
                "given_away": float(share.get(name, 0.0)),
            }
            for (name, kind), title, rows in by_model(inference, titles)
        ]
    }
