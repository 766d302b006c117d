"""Tables of the maps stage: kernel error and correlation, seconds, and numbers kept."""

from collections.abc import Collection, Mapping
from typing import Any

import pandas as pd

from workflow.lib.published import comparable
from workflow.lib.tables import BASELINE_NAMES, by_experiment, markdown_table, plus_minus

NAMES = {
    "fourier": "Fourier",
    "orthogonal": "orthogonal",
    "qmc": "quasi-Monte-Carlo",
    "fastfood": "Fastfood",
    "nystroem": "Nyström",
}
MODELS = {
    ("rcca", "fourier", "seed"): "RCCA, seed alone",
    ("rcca", "fastfood", "arrays"): "RCCA, Fastfood's factors",
    ("rcca", "fourier", "arrays"): "RCCA, weights W",
    ("rcca", "nystroem", "arrays"): "RCCA, landmarks",
    ("dcca", None, "layers"): "deep CCA, the paper's layers",
}
# What the baselines of this run keep: the networks as trained; the training rows and coefficients.
MEASURED = {"dcca": "measured layers", "kcca": "measured rows"}
_KEYS = ["experiment", "feature_map", "m"]


def score_summary(scores: pd.DataFrame) -> pd.DataFrame:
    """Mean and standard deviation over repeats of kernel errors and summed correlations.

    Parameters
    ----------
    scores : DataFrame
        Of the maps stage: one row per experiment, map, repeat and m.

    Returns
    -------
    DataFrame
        One row per experiment, map and m. ``gain`` is the test sum less that of Fourier features
        in the same repeat.
    """
    fourier = scores[scores["feature_map"] == "fourier"].set_index(["experiment", "repeat", "m"])
    repeats = pd.MultiIndex.from_frame(scores[["experiment", "repeat", "m"]])
    gain = scores["test_sum"] - fourier["test_sum"].reindex(repeats).to_numpy()
    groups = _ordered(scores.assign(gain=gain)).groupby(_KEYS, observed=True)
    summary = groups.agg(
        dataset=("dataset", "first"),
        components=("components", "first"),
        n_train=("n_train", "first"),
        n_test=("n_test", "first"),
        n_kernel=("n_kernel", "first"),
        repeats=("repeat", "nunique"),
        kernel_error_mean=("kernel_error", "mean"),
        kernel_error_sd=("kernel_error", "std"),
        kernel_rms_mean=("kernel_rms", "mean"),
        kernel_rms_sd=("kernel_rms", "std"),
        train_mean=("train_sum", "mean"),
        train_sd=("train_sum", "std"),
        test_mean=("test_sum", "mean"),
        test_sd=("test_sum", "std"),
        gain_mean=("gain", "mean"),
        gain_sd=("gain", "std"),
    )
    return summary.reset_index()


def speed_summary(times: pd.DataFrame) -> pd.DataFrame:
    """Fastest of the repeats, by row, and how many times as fast as Fourier features.

    Parameters
    ----------
    times : DataFrame
        Of `workflow.stages.maps.times.time_maps`.

    Returns
    -------
    DataFrame
        One row per experiment, map, d and m: ``microseconds`` of processor time a row and
        ``clock_microseconds``, ``speedup`` by processor time, and ``draw_seconds`` where m is the
        largest.
    """
    frame, keys = _ordered(times), ["experiment", "feature_map", "d", "m"]
    timed, drawn = (frame[frame["what"] == what] for what in ("features", "draw"))
    a_row = 1e6 / timed["rows"]
    timed = timed.assign(
        microseconds=timed["cpu_seconds"] * a_row, clock_microseconds=timed["seconds"] * a_row
    )
    columns = ["microseconds", "clock_microseconds"]
    speeds = timed.groupby(keys, observed=True)[columns].min().reset_index()
    fourier = speeds[speeds["feature_map"] == "fourier"][["experiment", "d", "m", "microseconds"]]
    beside = speeds.merge(fourier, "left", ["experiment", "d", "m"], suffixes=("", "_fourier"))
    speeds["speedup"] = beside["microseconds_fourier"] / beside["microseconds"]
    draws = drawn.rename(columns={"cpu_seconds": "draw_seconds"})[[*keys, "draw_seconds"]]
    return speeds.merge(draws, "left", keys)


def score_table(
    summary: pd.DataFrame, not_run: Mapping[str, str], titles: Mapping[str, str]
) -> str:
    """Lay out kernel errors and test correlations, one line per map, one column per m.

    Parameters
    ----------
    summary : DataFrame
        Of `score_summary`.
    not_run : mapping of experiment to reason
    titles : mapping of experiment to title
        Of all experiments, in the order in which they are shown.
    """
    return by_experiment(
        titles,
        not_run,
        lambda name, title: _score_block(title, summary[summary["experiment"] == name]),
    )


def _score_block(title: str, rows: pd.DataFrame) -> str:
    first = rows.iloc[0]
    repeats = "1 repeat" if first["repeats"] == 1 else f"{first['repeats']} repeats"
    return "\n".join(
        [
            f"**{title}**: relative error of the kernel matrix of {first['n_kernel']} rows",
            "",
            *_by_m(rows, "kernel_error", ".3f"),
            "",
            f"**{title}**: sum of the {first['components']} largest correlations on "
            f"{first['n_test']} test rows, from {first['n_train']} training rows ({repeats})",
            "",
            *_by_m(rows, "test", ".2f"),
            "",
        ]
    )


def _by_m(rows: pd.DataFrame, what: str, form: str) -> list[str]:
    header = ["map", *(f"m = {m}" for m in sorted(rows["m"].unique()))]
    lines = []
    for feature_map, group in rows.groupby("feature_map", observed=True):
        values = group.sort_values("m").to_dict("records")
        cells = [plus_minus(row[f"{what}_mean"], row[f"{what}_sd"], form) for row in values]
        lines.append([NAMES[str(feature_map)], *cells])
    return markdown_table(header, lines)


def speed_table(speeds: pd.DataFrame, not_run: Mapping[str, str], titles: Mapping[str, str]) -> str:
    """Lay out the times at the largest m, one line per map, one column per d.

    Parameters
    ----------
    speeds : DataFrame
        Of `speed_summary`.
    not_run : mapping of experiment to reason
    titles : mapping of experiment to title
        Of all experiments, in the order in which they are shown.
    """
    return by_experiment(
        titles,
        not_run,
        lambda name, title: _speed_block(title, speeds[speeds["experiment"] == name]),
    )


def _speed_block(title: str, rows: pd.DataFrame) -> str:
    rows = rows[rows["m"] == rows["m"].max()]
    header = ["map", *(f"d = {d}" for d in sorted(rows["d"].unique()))]
    lines = []
    for feature_map, group in rows.groupby("feature_map", observed=True):
        cells = [
            f"{row['microseconds']:.0f}, × {row['speedup']:.1f}, {row['draw_seconds']:.2f} s"
            for row in group.sort_values("d").to_dict("records")
        ]
        lines.append([NAMES[str(feature_map)], *cells])
    what = (
        f"µs of processor time a row for {rows['m'].iloc[0]} features, times as fast as Fourier "
        "features, seconds to draw the map"
    )
    return "\n".join([f"**{title}**: {what}", "", *markdown_table(header, lines), ""])


def with_measured(
    sizes: pd.DataFrame,
    baselines: pd.DataFrame,
    published: pd.DataFrame,
    experiments: Collection[str],
) -> pd.DataFrame:
    """Add what deep CCA and exact kernel CCA keep as they were fitted in this run.

    Parameters
    ----------
    sizes : DataFrame
        Of `workflow.stages.maps.sizes.model_sizes`.
    baselines : DataFrame
        ``tables/baselines.csv`` of stage rcca; without rows if the run has none.
    published : DataFrame
        ``resources/paper/table1_rcca.csv``.
    experiments : collection of str
        The baselines that follow the paper's protocol; no others stand beside its networks.

    Returns
    -------
    DataFrame
        With the column ``architecture``, of the measured models alone. Their ``ratio`` too is the
        count of the paper's deep CCA over theirs.
    """
    papers = kept(sizes, "dcca", None, "layers").set_index("dataset")["numbers"]
    measured = [
        {
            "dataset": row["dataset"],
            "model": row["method"],
            "keeps": MEASURED[row["method"]],
            "numbers": row["parameters"],
            "ratio": papers[row["dataset"]] / row["parameters"],
            "architecture": row["architecture"],
        }
        for row in baselines.to_dict("records")
        if row["method"] in MEASURED
        and row["dataset"] in papers
        and len(comparable(published, row, experiments))
    ]
    columns = [*sizes.columns, "architecture"]
    return pd.DataFrame([*sizes.to_dict("records"), *measured], columns=columns)


def size_table(sizes: pd.DataFrame) -> str:
    """Lay out the numbers kept, one line per model, one column per m.

    Parameters
    ----------
    sizes : DataFrame
        Of `with_measured`.
    """
    blocks = []
    for dataset, rows in sizes.groupby("dataset", sort=False):
        columns = sorted(rows["m"].dropna().unique())
        header = ["model", *(f"m = {m:.0f}" for m in columns)]
        lines = [[label, *_size_cells(rows, key, len(columns))] for key, label in MODELS.items()]
        for row in rows[rows["keeps"].isin(MEASURED.values())].to_dict("records"):
            label = f"{BASELINE_NAMES[row['model']]}, measured ({row['architecture']})"
            lines.append([label, *[_size_cell(row)] * len(columns)])
        what = (
            f"**{str(dataset).upper()}**: numbers kept for both views "
            "(the paper's deep CCA over them)"
        )
        blocks.append("\n".join([what, "", *markdown_table(header, lines), ""]))
    return "\n".join(blocks)


def _size_cells(rows: pd.DataFrame, key: Any, columns: int) -> list[str]:
    found = kept(rows, *key)
    if found["m"].isna().all():
        return [f"{found['numbers'].iloc[0]:,}"] * columns
    records = found.sort_values("m").to_dict("records")
    return [_size_cell(row) for row in records]


def _size_cell(row: Any) -> str:
    return f"{row['numbers']:,} (× {row['ratio']:.3g})"


def kept(sizes: pd.DataFrame, model: str, feature_map: str | None, keeps: str) -> pd.DataFrame:
    """Return the rows of one line of the table of sizes."""
    rows = sizes[(sizes["model"] == model) & (sizes["keeps"] == keeps)]
    return rows if feature_map is None else rows[rows["feature_map"] == feature_map]


def _ordered(frame: pd.DataFrame) -> pd.DataFrame:
    """Let groups come in the order of experiments in the frame and of the maps' names."""
    return frame.assign(
        experiment=pd.Categorical(frame["experiment"], frame["experiment"].unique()),
        feature_map=pd.Categorical(frame["feature_map"], list(NAMES)),
    )
