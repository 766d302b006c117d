"""Table, sentence and figure of stage autoencoder: errors and times beside linear PCA."""

from collections.abc import Collection, Mapping
from typing import Any

import numpy as np
import pandas as pd

from workflow.lib.job import by_name, job
from workflow.lib.outcomes import Outcomes, gathered
from workflow.lib.provenance import write_csv, write_text
from workflow.lib.tables import (
    by_experiment,
    half_width,
    plus_minus,
    titled_table,
    write_numbers,
)
from workflow.stages.autoencoder.figures import PICTURE_COLUMNS, reconstructions_figures

Titles = Mapping[str, str]
METHODS = {
    "pca": "linear PCA",
    "median": "RPCA (median heuristic)",
    "authors": "RPCA (authors' width)",
    "authors-encoder": "RPCA (authors' width and encoder)",
    "chosen": "RPCA (chosen widths)",
    "rpca-combined": "RPCA encoder, linear + random decoder",
    "combined": "PCA encoder, linear + random decoder",
}
# Methods of the paper's text or of its authors' code; the others are ours.
PAPERS = ("median", "authors-encoder")
_GRIDS = {"encoder": "width of the encoder", "decoder": "width of the decoder", "regs": "reg"}
_KEYS = ["experiment", "axis", "method", "d", "m"]
# What a summary needs of the stage's rows.
ERROR_COLUMNS = [
    *_KEYS, "dataset", "repeat", "n_train", "n_test", "encoder_width", "decoder_width", "reg",
    "on_edge", "train_error", "test_error", "test_psnr", "encoder_seconds", "decoder_seconds",
    "encode_seconds", "peak_mb",
]  # fmt: skip


def autoencoder_summary(errors: pd.DataFrame) -> pd.DataFrame:
    """Mean and standard deviation over repeats of the stage's rows.

    ``against`` is the test error relative to that of linear PCA on the same rows, minus 1, with the
    95 % interval of its mean (Student's). Deviations and intervals are missing where there is one
    repeat. ``on_edge`` lists the grids at an end of which a value was chosen in any repeat.
    """
    same = ["experiment", "repeat"]
    pca = errors[errors["method"] == "pca"].set_index(same)["test_error"]
    partner = pca.reindex(pd.MultiIndex.from_frame(errors[same])).to_numpy()
    ordered = errors.assign(
        experiment=pd.Categorical(errors["experiment"], errors["experiment"].unique()),
        method=pd.Categorical(errors["method"], list(METHODS)),
        against_pca=errors["test_error"] / partner - 1,
        fit_seconds=errors["encoder_seconds"] + errors["decoder_seconds"],
    )
    summary = ordered.groupby(_KEYS, observed=True).agg(
        dataset=("dataset", "first"),
        repeats=("repeat", "nunique"),
        n_train=("n_train", "first"),
        n_test=("n_test", "first"),
        encoder_widths=("encoder_width", _values),
        decoder_widths=("decoder_width", _values),
        regs=("reg", _values),
        on_edge=("on_edge", _keys),
        train_mean=("train_error", "mean"),
        test_mean=("test_error", "mean"),
        test_sd=("test_error", "std"),
        against_mean=("against_pca", "mean"),
        against_sd=("against_pca", "std"),
        psnr_mean=("test_psnr", "mean"),
        fit_seconds=("fit_seconds", "mean"),
        encode_seconds=("encode_seconds", "mean"),
        peak_mb=("peak_mb", "max"),
    )
    mean, error = summary["against_mean"], summary["against_sd"] / np.sqrt(summary["repeats"])
    half = half_width(error, summary["repeats"] - 1)
    return summary.assign(against_low=mean - half, against_high=mean + half).reset_index()


def _values(column: "pd.Series[float]") -> str:
    """List the different values of a column, to two digits."""
    return ", ".join(dict.fromkeys(f"{value:.2g}" for value in sorted(column.dropna())))


def _keys(column: "pd.Series[str]") -> str:
    """List the different keys in a column of lists."""
    return ", ".join(dict.fromkeys(key for keys in column.dropna() for key in keys.split(", ")))


def autoencoder_table(
    summary: pd.DataFrame,
    not_run: Mapping[str, str],
    titles: Titles,
    published: pd.DataFrame,
    experiments: Collection[str],
) -> str:
    """Lay out one block per experiment of `autoencoder_summary`.

    ``published`` has the paper's bounds on training time, which stand beside the ``experiments``
    that follow its protocol and no other.
    """

    def block(name: str, title: str) -> str:
        rows = summary[summary["experiment"] == name]
        bounds = published[: len(published) if name in experiments else 0]
        same = bounds.merge(rows[["dataset", "d", "m"]].head(1))["training_seconds_below"]
        paper = "".join(f"; the paper trains in less than {bound:g} s" for bound in same)
        return _block(title, rows, paper)

    return by_experiment(titles, not_run, block)


def _block(title: str, rows: pd.DataFrame, paper: str) -> str:
    first, best = rows.iloc[0], rows["test_mean"].min()
    header = ["method", "whose", "widths", "reg", "test error", "against PCA", "PSNR, dB"]
    cells = []
    for row in rows.to_dict("records"):
        test = plus_minus(row["test_mean"], row["test_sd"], ".4f")
        widths = (row[f"{part}_widths"] or "linear" for part in ("encoder", "decoder"))
        against = f"{100 * row['against_mean']:+.1f} %"
        if row["repeats"] > 1:
            against += f" [{100 * row['against_low']:.1f}, {100 * row['against_high']:.1f}]"
        cells.append(
            [
                METHODS[row["method"]],
                "paper" if row["method"] in PAPERS else "ours",
                " / ".join(widths),
                row["regs"] if row["decoder_widths"] else "–",
                f"**{test}**" if row["test_mean"] == best else test,
                against if row["method"] != "pca" else "–",
                f"{row['psnr_mean']:.2f}",
                f"{row['fit_seconds']:.1f}",
            ]
        )
    repeats = f"{first['repeats']} repeat" + ("s" if first["repeats"] > 1 else "")
    lead = (
        f"**{title}**: d = {first['d']}, m = {first['m']} ({first['n_train']} training pictures, "
        f"{first['n_test']} test pictures, {repeats}{paper})"
    )
    table = titled_table(lead, [*header, "training, s"], cells)
    edges = [
        f"{METHODS[row['method']]}: {', '.join(_GRIDS[key] for key in row['on_edge'].split(', '))}"
        for row in rows[rows["on_edge"] != ""].to_dict("records")
    ]
    # Other values than those of the grid may then be better.
    return f"{table}\nChosen at an end of its grid: {'; '.join(edges)}.\n" if edges else table


def numbers(summary: pd.DataFrame) -> dict[str, Any]:
    """Error against linear PCA's, in per cent, and seconds, by experiment and method."""
    found: dict[str, Any] = {}
    for name, rows in summary.groupby("experiment", sort=False, observed=True):
        against = dict(zip(rows["method"], 100 * rows["against_mean"], strict=True))
        best = str(rows["method"].iloc[rows["test_mean"].argmin()])
        found[str(name)] = {"d": rows["d"].iloc[0], "best": METHODS[best], "against": against}
        found[str(name)]["seconds"] = rows["fit_seconds"].max()
    return found


def report(outcomes: Outcomes, asked: Any, given: Any, out: Mapping[str, str]) -> None:
    """Write the tables and figures of the stage, and what they say.

    ``asked`` are the settings of the report, ``given`` the other files it reads, ``out`` the files
    it writes by their names.
    """
    titles = asked.titles
    errors, not_run = outcomes.rows("errors", columns=ERROR_COLUMNS)
    pictures, _ = outcomes.rows("pictures", columns=PICTURE_COLUMNS)
    summary = autoencoder_summary(errors)
    published = pd.read_csv(given.published), asked.published
    write_csv(out["autoencoder.csv"], summary)
    table = autoencoder_table(summary, not_run, titles, *published)
    write_text(out["autoencoder.md"], table)
    for name, figure in reconstructions_figures(pictures, summary, titles).items():
        write_text(out[f"{name}.svg"], figure)
    write_numbers(out["numbers.json"], numbers(summary))


if __name__ == "__main__":
    with job(snakemake) as asked:
        outcomes = gathered(snakemake, asked)
        report(outcomes, asked, snakemake.input, by_name(snakemake.output.shown))
