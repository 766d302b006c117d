"""Gathered CSVs: rows of all experiments, or the reasons why one was not run."""

import numpy as np
import pandas as pd
import pytest

from projects import write_with_record
from workflow.data import DataError
from workflow.lib.outcomes import Outcomes, gather, unavailable_reason

REASONS = {"mnist": 'no source, "none" at all\nsee the log', "digits": "left out"}


@pytest.fixture
def written(tmp_path):
    return lambda name, *given: write_with_record(tmp_path / name, *given)


def test_whole_numbers_stay_whole_beside_what_was_not_run_and_what_has_no_rows(written):
    part = pd.DataFrame({"m": [10, 40], "label": [3, 4], "error": [0.1, 1e-300]})
    parts = [written("one/a.csv", part), written("none/a.csv", part[["m"]].iloc[:0])]
    datasets = {"gone": "mnist", "none": "rings", "one": "rings", "out": "digits"}
    file = written("all.csv", gather(parts, datasets, REASONS))
    rows, reasons = Outcomes.read([file]).rows("all")
    assert reasons == {"gone": REASONS["mnist"], "out": REASONS["digits"]}
    labels = {"experiment": ["one"] * 2, "dataset": ["rings"] * 2, "published": [False] * 2}
    pd.testing.assert_frame_equal(rows, pd.DataFrame(labels).join(part))


def test_parts_follow_the_settings_and_stay_in_order(written):
    parts = [written(f"{name}/{n}.csv", pd.DataFrame({"n": [n]})) for name in "ab" for n in (1, 0)]
    rows = gather(parts, {"b": "rings", "a": "rings"}, {}, published=["a"])
    assert list(rows.columns) == ["experiment", "dataset", "published", "stem", "n"]
    expected = ["b False 1 1", "b False 0 0", "a True 1 1", "a True 0 0"]
    columns = ["experiment", "published", "stem", "n"]
    assert [" ".join(row) for row in rows[columns].to_numpy()] == expected


def test_numbers_are_gathered_as_they_are_written(written):
    """Read and written once more, the last digit of some would change."""
    numbers = np.random.default_rng(0).standard_normal(1000)
    text = gather([written("a/0.x.csv", pd.DataFrame({"n": numbers}))], {"a": ""}, {})["n"]
    assert text.tolist() == [repr(float(number)) for number in numbers]


@pytest.mark.parametrize("files", [[], ["gone.csv"]])
def test_nothing_run_has_the_columns_asked_for(written, files):
    paths = [written(file, gather([], {"gone": "mnist"}, REASONS)) for file in files]
    rows, reasons = Outcomes.read(paths).rows("gone", columns=["experiment", "m"])
    assert rows.empty
    assert list(rows.columns) == ["experiment", "m"]
    assert list(reasons) == ["gone"] * len(files)


def test_rows_made_for_another_request_are_refused(written):
    path = written("all.csv", pd.DataFrame({"m": [1]}), "another")
    with pytest.raises(DataError, match="made with other settings or code"):
        Outcomes.read([path])


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", '{"not_run": 3}', "[" * 100_000])
def test_damaged_record_of_a_fetch_names_the_remedy(tmp_path, text):
    (tmp_path / "mnist.json").write_text(text)
    with pytest.raises(DataError, match=r"Delete .*mnist\.json and run again to fetch it anew"):
        unavailable_reason(tmp_path / "mnist.json")


def test_published_rows_are_kept_of_experiments_that_the_settings_still_have():
    sums = pd.DataFrame({"experiment": ["one", "gone"], "dataset": "digits", "sum": ["1.5", "2"]})
    wanted, datasets = {"sums": ["one", "new"], "regs": ["one"]}, {"one": "digits", "new": "mnist"}
    kept = Outcomes({"sums": sums}).only(wanted, datasets, ["one"])
    rows, reasons = kept.rows("sums")
    assert rows[["experiment", "sum"]].values.tolist() == [["one", 1.5]]
    assert reasons == {"new": "not part of the published run"}
    rows, reasons = kept.rows("regs", columns=["reg"])
    assert (list(rows), list(reasons)) == (["reg"], ["one"])
