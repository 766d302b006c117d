"""Table of the autoencoder stage: error, sharpness and time of every method beside linear PCA."""

from collections.abc import Collection, Mapping
from os import PathLike
from typing import Any

import pandas as pd

from rnca._core.files import replacing
from workflow.lib.tables import plus_minus

METHODS = {
    "pca": "linear PCA",
    "median": "RPCA (median heuristic)",
    "authors": "RPCA (width of the authors' code)",
    "chosen": "RPCA (chosen widths)",
    "combined": "PCA encoder with linear + random decoder",
}
_KEYS = ["experiment", "axis", "method", "d", "m"]
# What a summary needs of the stage's rows.
ERROR_COLUMNS = [
    *_KEYS,
    "dataset",
    "repeat",
    "n_train",
    "n_test",
    "encoder_width",
    "decoder_width",
    "reg",
    "train_error",
    "test_error",
    "test_psnr",
    "encoder_seconds",
    "decoder_seconds",
    "encode_seconds",
    "peak_mb",
]


def autoencoder_summary(errors: pd.DataFrame) -> pd.DataFrame:
    """Mean and standard deviation over repeats.

    Parameters
    ----------
    errors : DataFrame
        Rows of the autoencoder stage: one per experiment, axis, method, d, m and repeat.

    Returns
    -------
    DataFrame
        One row per experiment, axis, method, d and m, in the order in which experiments come and
        methods are listed here. ``against`` is the test error relative to that of linear PCA on
        the same rows, less 1, and ``wins`` counts the repeats in which it is negative. A
        deviation is missing where there is one repeat.
    """
    pca = errors[errors["method"] == "pca"].set_index(["experiment", "axis", "d", "repeat"])
    partner = pd.MultiIndex.from_frame(errors[["experiment", "axis", "d", "repeat"]])
    against = errors["test_error"] / pca["test_error"].reindex(partner).to_numpy() - 1
    ordered = errors.assign(
        experiment=pd.Categorical(errors["experiment"], errors["experiment"].unique()),
        method=pd.Categorical(errors["method"], list(METHODS)),
        against_pca=against,
        fit_seconds=errors["encoder_seconds"] + errors["decoder_seconds"],
    )
    groups = ordered.groupby(_KEYS, observed=True)
    summary = groups.agg(
        dataset=("dataset", "first"),
        repeats=("repeat", "nunique"),
        n_train=("n_train", "first"),
        n_test=("n_test", "first"),
        encoder_widths=("encoder_width", _values),
        decoder_widths=("decoder_width", _values),
        regs=("reg", _values),
        train_mean=("train_error", "mean"),
        test_mean=("test_error", "mean"),
        test_sd=("test_error", "std"),
        against_mean=("against_pca", "mean"),
        against_sd=("against_pca", "std"),
        wins=("against_pca", lambda column: int((column < 0).sum())),
        psnr_mean=("test_psnr", "mean"),
        fit_seconds=("fit_seconds", "mean"),
        encode_seconds=("encode_seconds", "mean"),
        peak_mb=("peak_mb", "max"),
    )
    return summary.reset_index()


def _values(column: "pd.Series[float]") -> str:
    """List the different values of a column, to two digits."""
    return ", ".join(dict.fromkeys(f"{value:.2g}" for value in sorted(column.dropna())))


def write_autoencoder_table(
    path: str | PathLike[str],
    summary: pd.DataFrame,
    not_run: Mapping[str, str],
    titles: Mapping[str, str],
    published: pd.DataFrame,
    experiments: Collection[str],
) -> None:
    """Write the Markdown table, one block per experiment.

    Parameters
    ----------
    path : path
    summary : DataFrame
        Of `autoencoder_summary`.
    not_run : mapping of experiment to reason
    titles : mapping of experiment to title
        Of all experiments, in the order in which they are shown.
    published : DataFrame
        ``resources/paper/autoencoder.csv``: the paper's bounds on training time.
    experiments : collection of str
        Those that follow the paper's protocol; its bound stands beside no other.
    """
    table = summary[summary["axis"] == "table"]
    blocks = []
    for name, title in titles.items():
        if name in not_run:
            blocks.append(f"**{title}**: not run, {not_run[name]}\n")
            continue
        rows = table[table["experiment"] == name]
        bound = _bound(rows.iloc[0], published) if name in experiments else None
        blocks.append(_block(title, rows, bound))
    with replacing(path) as partial:
        partial.write_text("\n".join(blocks), encoding="utf-8")


def _bound(row: "pd.Series[float]", published: pd.DataFrame) -> float | None:
    same = published
    for column in ("dataset", "d", "m"):
        same = same[same[column] == row[column]]
    return float(same["training_seconds_below"].iloc[0]) if len(same) else None


def _block(title: str, rows: pd.DataFrame, bound: float | None) -> str:
    first = rows.iloc[0]
    repeats = f"{first['repeats']} repeat" + ("s" if first["repeats"] > 1 else "")
    lines = [
        f"**{title}**: d = {first['d']}, m = {first['m']} ({first['n_train']} training pictures, "
        f"{first['n_test']} test pictures, {repeats})",
        "",
        "| method | widths | reg | training error | test error | against PCA | PSNR, dB "
        "| training, s | encoding, s |" + (" paper, training, s |" if bound else ""),
        "|---|---|---|---:|---:|---:|---:|---:|---:|" + ("---:|" if bound else ""),
    ]
    best = rows["test_mean"].min()
    for row in rows.to_dict("records"):
        test = plus_minus(row["test_mean"], row["test_sd"], ".4f")
        cells = [
            METHODS[row["method"]],
            _widths(row),
            row["regs"] if row["decoder_widths"] else "–",
            f"{row['train_mean']:.4f}",
            f"**{test}**" if row["test_mean"] == best else test,
            _share(row) if row["method"] != "pca" else "–",
            f"{row['psnr_mean']:.2f}",
            f"{row['fit_seconds']:.1f}",
            f"{row['encode_seconds']:.2f}",
            *([_paper(row, bound)] if bound else []),
        ]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join([*lines, "", _verdict(rows), ""])


def _paper(row: Mapping[Any, Any], bound: float) -> str:
    return "–" if row["method"] in ("pca", "combined") else f"< {bound:g}"


def _widths(row: Mapping[Any, Any]) -> str:
    """Multiples of the median heuristic's gamma: of the encoder, of the decoder."""
    return " / ".join(str(row[f"{part}_widths"] or "linear") for part in ("encoder", "decoder"))


def _share(row: Mapping[Any, Any]) -> str:
    return plus_minus(100 * row["against_mean"], 100 * row["against_sd"], "+.1f") + " %"


def _verdict(rows: pd.DataFrame) -> str:
    """Say which methods have a smaller test error than linear PCA, and in how many repeats."""
    found: dict[str, list[str]] = {}
    for row in rows[rows["method"] != "pca"].to_dict("records"):
        often = {0: "in no repeat", row["repeats"]: "in every repeat"}
        how_often = often.get(row["wins"], f"in {row['wins']} of {row['repeats']} repeats")
        found.setdefault(how_often, []).append(METHODS[row["method"]])
    groups = "; ".join(f"{how_often}: {', '.join(names)}" for how_often, names in found.items())
    return f"Test error below that of linear PCA {groups}."
