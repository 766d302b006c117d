"""Tables and figure of the rcca stage, made from fixed CSVs."""

from pathlib import Path

import pandas as pd
import pytest

from rnca.reporting.figures import rcca_figure, save
from rnca.reporting.leaks import leak_lines, write_leaks_table
from rnca.reporting.outcomes import gather, read_outcomes
from rnca.reporting.published import beside_published
from rnca.reporting.tables import SUMS_COLUMNS, rcca_summary, write_markdown

GOLDEN = Path(__file__).parent / "golden"
PUBLISHED = pd.read_csv(Path(__file__).parents[2] / "resources" / "paper" / "table1_rcca.csv")
TITLES = {"mnist": "MNIST", "xrmb": "XRMB", "mocha": "MOCHA", "few": "MNIST, top 10"}


def read(*names):
    return read_outcomes([GOLDEN / f"{name}.sums.csv" for name in names], SUMS_COLUMNS)


def labels(figure):
    return [set(axes.get_legend_handles_labels()[1]) for axes in figure.axes]


def test_table_is_the_golden_one(tmp_path):
    sums, not_run = read(*TITLES)
    summary = beside_published(rcca_summary(sums), PUBLISHED, TITLES)
    write_markdown(tmp_path / "rcca.md", summary, not_run, TITLES)
    assert (tmp_path / "rcca.md").read_text("utf-8") == (GOLDEN / "rcca.md").read_text("utf-8")


def test_paper_stands_beside_its_own_dataset_and_number_of_components_only():
    summary = beside_published(rcca_summary(read(*TITLES)[0]), PUBLISHED, TITLES)
    published = summary.dropna(subset="paper")
    assert set(published["experiment"]) == {"mnist"}
    assert published["difference"].tolist() == pytest.approx([0.2, -0.03, 0.62])


def test_paper_stands_beside_no_protocol_of_ours():
    summary = rcca_summary(read("mnist")[0])
    assert beside_published(summary, PUBLISHED, ["xrmb"])["paper"].isna().all()
    assert not any(
        "paper" in label for label in labels(rcca_figure(summary, PUBLISHED, ["xrmb"], TITLES))[0]
    )


def test_row_counts_that_differ_between_repeats_are_a_range(tmp_path):
    sums, _ = read("mnist")
    sums.loc[sums["repeat"] == 1, ["n_train", "n_test"]] = [53990, 10007]
    summary = beside_published(rcca_summary(sums), PUBLISHED, [])
    write_markdown(tmp_path / "rcca.md", summary, {}, {"mnist": "MNIST"})
    text = (tmp_path / "rcca.md").read_text("utf-8")
    assert "(53990 to 54000 training rows, 10000 to 10007 test rows, 2 repeats)" in text


def test_figure_draws_the_paper_beside_its_own_dataset_only():
    figure = rcca_figure(rcca_summary(read("mnist", "mocha")[0]), PUBLISHED, TITLES, TITLES)
    mnist, mocha = labels(figure)
    assert mocha == {"linear CCA", "RCCA, Nyström"}
    assert mnist - mocha == {
        "RCCA, Fourier",
        "RCCA, Fourier (paper)",
        "RCCA, Nyström (paper)",
        "linear CCA (paper)",
        "deep CCA (paper)",
    }
    (lines,) = (
        line for line in figure.axes[0].lines if line.get_label() == "RCCA, Fourier (paper)"
    )
    assert lines.get_ydata()[0] == 36.31
    assert lines.get_markerfacecolor() == "white"


@pytest.mark.parametrize("names", [("xrmb",), ("mnist", "mocha", "few")])
def test_figure_is_the_same_every_time(tmp_path, names):
    for copy in ("a.svg", "b.svg"):
        figure = rcca_figure(rcca_summary(read(*names)[0]), PUBLISHED, TITLES, TITLES)
        save(figure, [str(tmp_path / copy)])
    assert (tmp_path / "a.svg").read_bytes() == (tmp_path / "b.svg").read_bytes()


def test_table_without_any_experiment_run_says_why(tmp_path):
    sums, not_run = read("xrmb")
    summary = beside_published(rcca_summary(sums), PUBLISHED, TITLES)
    write_markdown(tmp_path / "rcca.md", summary, not_run, {"xrmb": "XRMB"})
    text = (tmp_path / "rcca.md").read_text("utf-8")
    assert text == "**XRMB**: not run, could not fetch xrmb.1; the log tells more\n"


def test_gathered_rows_begin_with_their_labels(tmp_path):
    pd.DataFrame({"m": [1], "experiment": ["e"]}).to_csv(tmp_path / "a.csv", index=False)
    rows = gather([tmp_path / "a.csv"] * 2, {"experiment": "e", "dataset": "d"})
    assert rows.to_dict("list") == {"experiment": ["e"] * 2, "dataset": ["d"] * 2, "m": [1, 1]}


def test_leak_table_is_the_golden_one(tmp_path):
    write_leaks_table(tmp_path / "leaks.md", pd.read_csv(GOLDEN / "leaks.csv"), TITLES)
    assert (tmp_path / "leaks.md").read_text("utf-8") == (GOLDEN / "leaks.md").read_text("utf-8")


def test_summary_tells_of_leaks_that_matter():
    assert leak_lines(pd.read_csv(GOLDEN / "leaks.csv"), TITLES) == [
        "MOCHA: 1 of 10000 test rows also stand among the training rows",
        "MOCHA: 9607 of 10000 test rows share a frame with training rows",
    ]
