import numpy as np
import pytest

from workflow.data.audit import frame_keys, leak_audit, row_keys
from workflow.data.splits import Split, group_split, random_split


def counts(found, part):
    return {row["kind"]: row["rows"] for row in found if row["part"] == part}


def test_planted_leaks_are_counted():
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(10, 6)), rng.normal(size=(10, 4))
    x[7], y[7] = x[0], y[0]
    x[8] = x[1]
    x[9, :2] = x[2, 4:]
    split = Split(np.arange(6), np.array([6]), np.array([7, 8, 9]), 10)
    found = leak_audit(split, x, y, frame_columns=2)
    assert counts(found, "test") == {
        "duplicate in x": 2,
        "duplicate in y": 1,
        "duplicate in both": 1,
        "shared frame": 3,
    }
    assert set(counts(found, "tune").values()) == {0}


def test_negative_zero_equals_zero():
    assert len(np.unique(row_keys(np.array([[0.0], [-0.0]])))) == 1


def test_columns_must_be_whole_frames():
    with pytest.raises(ValueError, match="10 columns are not whole frames of 4"):
        frame_keys(np.zeros((2, 10)), 4)


def test_recordings_leak_at_random_and_not_by_utterance(prepared):
    data = prepared("xrmb-jw61")
    frame = data.meta["frame_columns"]
    assert frame == 39
    at_random = random_split(data.n_rows, (20_000, 0, 5_000), 0)
    found = leak_audit(at_random, data.x, data.y, frame_columns=frame)
    assert counts(found, "test")["shared frame"] > 4_990
    assert counts(found, "test")["duplicate in both"] == 0
    by_utterance = group_split(data.groups, (20_000, 0, 5_000), 0)
    found = leak_audit(by_utterance, data.x, data.y, frame_columns=frame)
    assert counts(found, "test")["shared frame"] == 0
