"""Deep CCA and exact kernel CCA as rows of Table 1."""

from collections.abc import Collection
from typing import Any

import pandas as pd

from workflow.stages.rcca.baselines_report import with_paper

# Those of RCCA's columns that a baseline does not fill make floats of all the others.
_COUNTS = [
    "m",
    "components",
    "n_train_min",
    "n_train_max",
    "n_test_min",
    "n_test_max",
    "repeats",
]


def with_baselines(
    summary: pd.DataFrame,
    deep: pd.DataFrame,
    kernel: pd.DataFrame,
    published: pd.DataFrame,
    experiments: Collection[str],
) -> pd.DataFrame:
    """Add rows of deep CCA, and of kernel CCA at every n, below those of RCCA.

    Parameters
    ----------
    summary : DataFrame
        Of `workflow.stages.rcca.minutes.with_minutes`.
    deep, kernel : DataFrame
        Of the baselines, with ``experiment`` and ``dataset``; those of an experiment that the
        summary does not have are left out.
    published : DataFrame
        ``resources/paper/table1_rcca.csv``.
    experiments : collection of str
        Those that follow the paper's protocol.

    Returns
    -------
    DataFrame
        With the columns of the summary. A baseline has no ``feature_map`` and no ``m``; its
        ``minutes_one_core`` are the processor minutes of all cores. There is no training sum:
        deep CCA knows one of its mini-batches only, kernel CCA a regularised one.
    """
    fitted = kernel[kernel["left_out"].isna()].rename(columns={"n": "n_train"})
    fits = [fits for _, fits in deep.groupby("experiment", sort=False)]
    fits += [fits for _, fits in fitted.groupby(["experiment", "n_train"])]
    if not fits:
        return summary
    added = with_paper(pd.DataFrame([_row(each) for each in fits]), published, experiments)
    added["difference"] = added["test_mean"] - added["paper"]
    added["speed_up"] = added["paper_minutes"] / added["minutes_one_core"]
    records = [
        row
        for name in dict.fromkeys(summary["experiment"])
        for frame in (summary, added)
        for row in frame[frame["experiment"] == name].to_dict("records")
    ]
    return pd.DataFrame(records, columns=summary.columns).astype(dict.fromkeys(_COUNTS, "Int64"))


def _row(fits: pd.DataFrame) -> dict[str, Any]:
    first = fits.iloc[0]
    return {
        **{name: first[name] for name in ("experiment", "method", "dataset", "components")},
        "n_train_min": fits["n_train"].min(),
        "n_train_max": fits["n_train"].max(),
        "repeats": len(fits),
        "test_mean": fits["test_sum"].mean(),
        "test_sd": fits["test_sum"].std(),
        "signed_mean": fits["test_sum_signed"].mean(),
        "minutes_one_core": fits["cpu_minutes"].mean(),
    }
