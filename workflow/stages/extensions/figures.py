"""Charts of the extensions stage: clusters, errors of classifiers, powers."""

from collections.abc import Mapping

import numpy as np
import pandas as pd

from workflow.lib.chart import Axis, Panel, Series, level, linear, logarithmic, plain

CLUSTERINGS = {
    "kmeans": "k-means",
    "exact": "exact spectral",
    "fourier": "randomized, Fourier",
    "nystroem": "randomized, Nyström",
}
CLASSIFIERS = {
    "lda": "LDA",
    "svm": "linear SVM",
    "fourier": "RLDA, Fourier",
    "nystroem": "RLDA, Nyström",
}
COEFFICIENTS = {"pearson": "Pearson", "spearman": "Spearman", "rdc": "RDC"}
LOOKS = {
    "kmeans": "other", "exact": "kernel", "fourier": "fourier", "nystroem": "nystroem",
    "lda": "linear", "svm": "other", "pearson": "linear", "spearman": "other", "rdc": "fourier",
}  # fmt: skip
_DRAWN = ("kmeans", "nystroem")


def shapes_figure(points: pd.DataFrame, titles: Mapping[str, str]) -> list[Panel]:
    """Clusters of the shapes' points, a panel per shape and method."""
    panels = []
    drawn = points[points["method"].isin(_DRAWN)]
    for (name, method), rows in drawn.groupby(["data", "method"], sort=False):
        marks = [
            Series(look, group["x1"], group["x2"], line=False, dots=True)
            for look, (_, group) in zip(("dcca", "whitened"), rows.groupby("cluster"), strict=False)
        ]
        ends = np.abs(rows[["x1", "x2"]].to_numpy()).max()
        axis, title = Axis(-ends, ends, {}), f"{titles[str(name)]}: {CLUSTERINGS[str(method)]}"
        panels.append(Panel(axis, axis, marks, title, bare=True))
    return panels


def clustering_figure(summary: pd.DataFrame, titles: Mapping[str, str]) -> list[Panel]:
    """Agreement of the clusters with the classes against m, a panel per set of rows."""
    panels = []
    for name, rows in summary.groupby("data", sort=False, observed=True):
        y = Axis(-0.03, 1.03, {0: "0", 0.5: "0.5", 1: "1"}, "mutual information with the classes")
        title = f"{titles[str(name)]}, n = {rows['n'].iloc[0]:,}"
        panels.append(_against_m(rows, "nmi", CLUSTERINGS, y, title))
    return panels


def discriminants_figure(summary: pd.DataFrame, title: str) -> list[Panel]:
    """Test error against m; blank without rows."""
    if not len(summary):
        return []
    y = linear([summary["error_mean"]], "test error", zero=True, unit=" %")
    return [_against_m(summary, "error", CLASSIFIERS, y, title)]


def _against_m(
    rows: pd.DataFrame, measure: str, names: Mapping[str, str], y: Axis, title: str
) -> Panel:
    """Draw means with standard deviations; a level for what does not depend on m."""
    sizes = sorted(set(rows["m"].dropna().astype(float))) or [1.0]
    x = logarithmic([sizes], "random features m", {m: plain(m) for m in sizes})
    marks = []
    for method, name in names.items():
        own = rows[rows["method"] == method]
        mean, sd = own[f"{measure}_mean"].to_numpy(), own[f"{measure}_sd"].fillna(0.0).to_numpy()
        if not len(own):
            continue
        if own["m"].isna().all():
            marks.append(level(LOOKS[method], x, mean[0], name, name))
        else:
            marks.append(Series(LOOKS[method], own["m"], mean, name, name, mean - sd, mean + sd))
    return Panel(x, y, marks, title, 280)


def dependence_figure(power: pd.DataFrame) -> list[Panel]:
    """Power against noise, one panel per pattern, with one standard error."""
    panels = []
    for pattern, rows in power.groupby("pattern", sort=False):
        x = logarithmic(
            [rows["noise"]], "noise in y (s.d.)", {n: f"{n:g}" for n in set(rows["noise"])}
        )
        marks = []
        for method, name in COEFFICIENTS.items():
            own = rows[rows["method"] == method].sort_values("noise")
            mean = own["power"].to_numpy()
            error = np.sqrt(mean * (1 - mean) / own["repeats"].to_numpy())
            marks.append(
                Series(LOOKS[method], own["noise"], mean, name, name, mean - error, mean + error)
            )
        y = Axis(-0.03, 1.03, {0: "0", 0.5: "0.5", 1: "1"}, "power")
        panels.append(Panel(x, y, marks, str(pattern), 220))
    return panels
