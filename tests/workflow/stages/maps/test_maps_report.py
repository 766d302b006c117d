"""Tables and figures of the maps stage, made from small fixed frames."""

from pathlib import Path

import pandas as pd
import pytest

from projects import svg_of
from workflow.lib.published import beside_published
from workflow.stages.maps.figures import score_figure, size_figure, speed_figure
from workflow.stages.maps.fit import SCORE_COLUMNS
from workflow.stages.maps.sizes import model_sizes
from workflow.stages.maps.tables import (
    score_summary,
    score_table,
    size_table,
    speed_summary,
    speed_table,
    with_measured,
)
from workflow.stages.maps.times import TIME_COLUMNS
from workflow.stages.rcca.baselines_tables import (
    DEEP_COLUMNS,
    KERNEL_COLUMNS,
    baseline_fits,
    baselines_summary,
)

PAPER = Path(__file__).parents[4] / "resources" / "paper"
PUBLISHED = pd.read_csv(PAPER / "table1_rcca.csv")
TITLES = {"mnist": "MNIST"}


@pytest.fixture
def scores():
    values = {
        ("nystroem", 0): 42.0,
        ("nystroem", 1): 42.4,
        ("fourier", 0): 36.0,
        ("fourier", 1): 37.0,
    }
    return pd.DataFrame(
        [
            {
                "experiment": "mnist",
                "dataset": "mnist",
                "feature_map": name,
                "repeat": repeat,
                "m": m,
                "kernel_error": 0.1 if name == "fourier" else 0.01,
                "kernel_rms": 0.05,
                "train_sum": 45.0,
                "test_sum": test_sum + m / 1000,
            }
            for (name, repeat), test_sum in values.items()
            for m in (1000, 2000)
        ]
    ).assign(components=50, n_train=54000, n_test=10000, n_kernel=100)


@pytest.fixture
def times():
    rows = [
        ("fourier", "features", 8, 100, 2.0),
        ("fourier", "features", 8, 100, 1.0),
        ("fastfood", "features", 8, 100, 0.25),
        ("fastfood", "features", 8, 100, 0.5),
        ("fourier", "draw", 8, 0, 3.0),
        ("fastfood", "draw", 8, 0, 4.0),
    ]
    columns = ["feature_map", "what", "d", "rows", "cpu_seconds"]
    frame = pd.DataFrame(rows, columns=columns)
    return frame.assign(experiment="mnist", m=16, repeat=0, seconds=frame["cpu_seconds"] / 2)


@pytest.fixture
def counted():
    return model_sizes(pd.read_csv(PAPER / "dcca_layers.csv"), [1000, 6000])


@pytest.fixture
def baselines():
    fixed = {"experiment": "mnist", "dataset": "mnist", "components": 50, "n_train": 54000}
    fixed |= dict.fromkeys(["train_sum", "tune_sum", "test_sum", "test_sum_signed"], 46.9)
    fixed |= {"minutes": 1.0, "cpu_minutes": 1.0}
    fixed |= {"repeat": 0, "left_out": None, "n_tune": 6000, "n_test": 10000}
    layers = "392-400-400-50; 392-400-400-50; relu"
    deep = {"method": "dcca", "architecture": layers, "parameters": 675300}
    kernel = {"method": "kcca", "n": 4000, "reg_over_n": 1e-4}
    exact = pd.DataFrame([fixed | kernel | {"parameters": 3536000}])
    return baselines_summary(baseline_fits(pd.DataFrame([fixed | deep]), exact))


@pytest.fixture
def sizes(counted, baselines):
    return with_measured(counted, baselines, PUBLISHED, ["mnist"])


def test_gains_over_fourier_are_taken_within_a_repeat(scores):
    summary = score_summary(scores).set_index(["feature_map", "m"])
    row = summary.loc[("nystroem", 1000)]
    assert row["gain_mean"] == pytest.approx((6.0 + 5.4) / 2)
    assert row["gain_sd"] == pytest.approx(0.6 / 2**0.5)
    assert summary.loc[("fourier", 2000), "gain_mean"] == 0
    assert row["repeats"] == 2


def test_paper_stands_beside_its_own_protocol_and_maps_only(scores):
    summary = beside_published(score_summary(scores), PUBLISHED, ["mnist"])
    assert summary["paper"].tolist() == [36.31, 39.56, 41.68, 43.15]
    assert beside_published(score_summary(scores), PUBLISHED, [])["paper"].isna().all()
    fastfood = scores.assign(feature_map="fastfood")
    both = pd.concat([scores, fastfood])
    added = beside_published(score_summary(both), PUBLISHED, ["mnist"]).set_index("feature_map")
    assert added.loc["fastfood", "paper"].isna().all()


def test_score_table(scores):
    titles = {"mnist": "MNIST", "gone": "another"}
    table = score_table(score_summary(scores), {"gone": "no source"}, titles)
    assert table.splitlines() == [
        "**MNIST**: relative error of the kernel matrix of 100 rows",
        "",
        "| map | m = 1000 | m = 2000 |",
        "|---|---:|---:|",
        "| Fourier | 0.100 ± 0.000 | 0.100 ± 0.000 |",
        "| Nyström | 0.010 ± 0.000 | 0.010 ± 0.000 |",
        "",
        "**MNIST**: sum of the 50 largest correlations on 10000 test rows, from 54000 training "
        "rows (2 repeats)",
        "",
        "| map | m = 1000 | m = 2000 |",
        "|---|---:|---:|",
        "| Fourier | 37.50 ± 0.71 | 38.50 ± 0.71 |",
        "| Nyström | 43.20 ± 0.28 | 44.20 ± 0.28 |",
        "",
        "**another**: not run, no source",
    ]


def test_speeds_are_the_fastest_repeat_s(times):
    speeds = speed_summary(times).set_index("feature_map")
    assert speeds["microseconds"].to_dict() == {"fourier": 1e4, "fastfood": 2.5e3}
    assert speeds["clock_microseconds"].to_dict() == {"fourier": 5e3, "fastfood": 1.25e3}
    assert speeds["speedup"].to_dict() == {"fourier": 1.0, "fastfood": 4.0}
    assert speeds["draw_seconds"].to_dict() == {"fourier": 3.0, "fastfood": 4.0}


def test_speed_table(times):
    titles = TITLES | {"gone": "another"}
    table = speed_table(speed_summary(times), {"gone": "no source"}, titles)
    assert table.splitlines()[-4:] == [
        "| Fourier | 10000, × 1.0, 3.00 s |",
        "| Fastfood | 2500, × 4.0, 4.00 s |",
        "",
        "**another**: not run, no source",
    ]


def test_size_table(sizes):
    lines = size_table(sizes).splitlines()
    assert "| RCCA, seed alone | 102,788 (× 22.4) | 612,788 (× 3.77) |" in lines
    assert "| deep CCA, the paper's layers | 83,025,848 | 83,025,848 |" in lines
    assert (
        "| deep CCA, measured (392-400-400-50; 392-400-400-50; relu) "
        "| 675,300 (× 3.42) | 675,300 (× 3.42) |"
    ) in lines
    assert (
        "| exact kernel CCA, measured (n = 4000, reg = 0.0001 n) "
        "| 3,536,000 (× 0.653) | 3,536,000 (× 0.653) |"
    ) in lines


def test_measured_models_stand_beside_the_paper_s_own_protocol_only(counted, baselines):
    assert len(with_measured(counted, baselines, PUBLISHED, [])) == len(counted)
    for change in ({"dataset": "digits"}, {"components": 10}):
        other = with_measured(counted, baselines.assign(**change), PUBLISHED, ["mnist"])
        assert len(other) == len(counted)
    nothing = [pd.DataFrame(columns=list(names)) for names in (DEEP_COLUMNS, KERNEL_COLUMNS)]
    other = with_measured(counted, baselines_summary(baseline_fits(*nothing)), PUBLISHED, ["mnist"])
    assert "measured" not in size_table(other)


def test_size_figure_draws_measured_models_as_lines(sizes):
    mnist, xrmb = size_figure(sizes).axes
    found = dict(zip(*mnist.get_legend_handles_labels()[::-1], strict=True))
    assert list(found["deep CCA, measured"].get_ydata()) == [675300] * 2
    assert list(found["exact kernel CCA, measured"].get_ydata()) == [3536000] * 2
    assert not any("measured" in label for label in xrmb.get_legend_handles_labels()[1])


def test_figures_can_be_written(tmp_path, scores, times, sizes):
    summary = beside_published(score_summary(scores), PUBLISHED, ["mnist"])
    figures = [
        score_figure(summary, TITLES),
        speed_figure(speed_summary(times), TITLES),
        size_figure(sizes),
    ]
    for figure in figures:
        assert svg_of(figure, tmp_path)
    labels = figures[0].axes[1].get_legend_handles_labels()[1]
    assert set(labels) == {"Fourier", "Nyström", "Nyström (paper)"}
    (line,) = figures[1].axes[1].get_legend_handles_labels()[0]
    assert line.get_ydata().tolist() == [4.0]


def test_figures_of_nothing_that_was_run_are_blank(tmp_path):
    scores = pd.DataFrame(columns=["experiment", "dataset", *SCORE_COLUMNS])
    summary = beside_published(score_summary(scores), PUBLISHED, [])
    speeds = speed_summary(pd.DataFrame(columns=["experiment", *TIME_COLUMNS]))
    for figure in (score_figure(summary, TITLES), speed_figure(speeds, TITLES)):
        assert svg_of(figure, tmp_path)
    for table, rows in ((score_table, summary), (speed_table, speeds)):
        assert table(rows, {"mnist": "no source"}, TITLES) == "**MNIST**: not run, no source\n"
