"""Gathered CSVs: rows of all experiments, or the reasons why one was not run."""

import pandas as pd
import pytest

from projects import write_with_record
from workflow.data import DataError
from workflow.lib.outcomes import gather, read_outcomes, unavailable_reason

REASONS = {"mnist": 'no source, "none" at all\nsee the log', "digits": "left out"}


@pytest.fixture
def written(tmp_path):
    return lambda name, *given: write_with_record(tmp_path / name, *given)


def test_whole_numbers_stay_whole_beside_what_was_not_run_and_what_has_no_rows(written):
    part = pd.DataFrame({"m": [10, 40], "label": [3, 4], "error": [0.1, 1e-300]})
    parts = [written("one/a.csv", part), written("none/a.csv", part[["m"]].iloc[:0])]
    datasets = {"gone": "mnist", "none": "rings", "one": "rings", "out": "digits"}
    file = written("all.csv", gather(parts, datasets, REASONS))
    rows, reasons = read_outcomes(file, [])
    assert reasons == {"gone": REASONS["mnist"], "out": REASONS["digits"]}
    labels = {"experiment": ["one"] * 2, "dataset": ["rings"] * 2, "published": [False] * 2}
    pd.testing.assert_frame_equal(rows, pd.DataFrame(labels).join(part))


def test_parts_follow_the_settings_and_stay_in_order(written):
    parts = [written(f"{name}/{n}.csv", pd.DataFrame({"n": [n]})) for name in "ab" for n in (1, 0)]
    rows = gather(parts, {"b": "rings", "a": "rings"}, {}, published=["a"])
    assert list(rows.columns) == ["experiment", "dataset", "published", "n"]
    expected = [["b", False, 1], ["b", False, 0], ["a", True, 1], ["a", True, 0]]
    assert rows[["experiment", "published", "n"]].to_numpy().tolist() == expected


@pytest.mark.parametrize("files", [[], ["gone.csv"]])
def test_nothing_run_has_the_columns_asked_for(written, files):
    paths = [written(file, gather([], {"gone": "mnist"}, REASONS)) for file in files]
    rows, reasons = read_outcomes(paths, ["experiment", "m"])
    assert rows.empty
    assert list(rows.columns) == ["experiment", "m"]
    assert list(reasons) == ["gone"] * len(files)


def test_rows_made_for_another_request_are_refused(written):
    path = written("all.csv", pd.DataFrame({"m": [1]}), "another")
    with pytest.raises(DataError, match="made with other settings or code"):
        read_outcomes(path, [])


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", '{"not_run": 3}', "[" * 100_000])
def test_damaged_record_of_a_fetch_names_the_remedy(tmp_path, text):
    (tmp_path / "mnist.json").write_text(text)
    with pytest.raises(DataError, match=r"Delete .*mnist\.json and run again to fetch it anew"):
        unavailable_reason(tmp_path / "mnist.json")
