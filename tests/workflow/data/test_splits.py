"""Splits of rows, and the leaks between their parts."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from workflow.data import DataError
from workflow.data.audit import frame_keys, leak_audit, row_keys
from workflow.data.splits import (
    Split,
    fraction_split,
    given_split,
    group_split,
    official_split,
    privileged_partition,
    random_split,
)


def test_random_split_has_the_sizes_asked_for_and_follows_the_seed():
    sizes = (54_000, 6_000, 10_000)
    split, same, other = (random_split(70_000, sizes, seed) for seed in (1, 1, 2))
    assert split.sizes == sizes
    everything = np.concatenate([split.train, split.tune, split.test])
    assert np.array_equal(np.sort(everything), np.arange(70_000))
    assert np.array_equal(split.test, same.test)
    assert not np.array_equal(split.test, other.test)
    children = [np.random.SeedSequence(3).spawn(1)[0] for _ in range(2)]
    one, again = (random_split(9, (4, 2, 3), child) for child in children)
    assert np.array_equal(one.tune, again.tune)


def test_fractions():
    assert fraction_split(1797, 0).sizes == (1439, 179, 179)


def test_official_split_keeps_the_test_rows():
    codes = np.repeat([0, 2, 1], [50, 20, 30])
    split = official_split(codes, 10, 0)
    assert np.array_equal(split.test, np.arange(50, 70))
    assert split.sizes == (70, 10, 20)


def test_given_split_is_taken_as_it_is():
    split = given_split(np.array([2, 0, 0, 1]))
    assert (split.train.tolist(), split.tune.tolist(), split.test.tolist()) == ([1, 2], [3], [0])
    with pytest.raises(DataError, match="needs train and test rows"):
        given_split(np.array([0, 0, 1]))


@settings(deadline=None, max_examples=50)
@given(
    counts=st.lists(st.integers(1, 30), min_size=12, max_size=60),
    seed=st.integers(0, 2**32),
)
def test_no_group_is_on_two_sides(counts, seed):
    groups = np.repeat(np.arange(len(counts)), counts)
    n = len(groups)
    sizes = (n - 2 * (n // 4), n // 4, n // 4)
    split = group_split(groups, sizes, seed)
    sides = [set(groups[rows]) for rows in (split.train, split.tune, split.test)]
    assert sum(map(len, sides)) == len(set.union(*sides))
    for found, wanted in zip(split.sizes, sizes, strict=True):
        assert abs(found - wanted) <= max(counts)


def test_folds_have_different_test_groups():
    groups = np.repeat(np.arange(50), 20)
    splits = [group_split(groups, (700, 100, 200), 0, fold) for fold in range(5)]
    assert sorted(np.concatenate([split.test for split in splits])) == list(range(1000))
    assert all(split.sizes == (700, 100, 200) for split in splits)


def test_partition_takes_rows_of_its_classes_only():
    labels = np.repeat(np.arange(30), 100)
    task = privileged_partition(labels, 5, n_train=700, n_test=800)
    assert len(set(task.positive) | set(task.negative)) == 20
    assert task.split.sizes == (700, 0, 800)
    rows = np.concatenate([task.split.train, task.split.test])
    assert set(labels[rows]) <= set(task.positive + task.negative)
    with pytest.raises(DataError, match="need 40, but there are 30"):
        privileged_partition(labels, 0, classes_per_side=20)
    with pytest.raises(DataError, match="do not fit 2000 rows"):
        privileged_partition(labels, 0, n_train=1500)


def test_balanced_partition_has_half_of_its_rows_on_either_side():
    labels = np.repeat(np.arange(30), np.arange(1, 31) * 20)
    task = privileged_partition(labels, 5, n_train=300, n_test=200, balanced=True)
    for rows, half in ((task.split.train, 150), (task.split.test, 100)):
        assert np.isin(labels[rows], task.positive).sum() == half
        assert np.isin(labels[rows], task.negative).sum() == half
    with pytest.raises(DataError, match="301 training and 200 test rows cannot be halved"):
        privileged_partition(labels, 0, n_train=301, n_test=200, balanced=True)


@pytest.mark.parametrize("sizes", [(0, 1, 1), (5, 0, 0), (9, 1, 1), (5, -1, 2), (5, 5)])
def test_impossible_sizes(sizes):
    with pytest.raises(DataError, match="do not fit 10 rows"):
        random_split(10, sizes, 0)


def test_saved_split_is_checked_when_loaded(tmp_path):
    split = random_split(10, (5, 2, 3), 0)
    path = tmp_path / "split.npz"
    split.save(path)
    assert np.array_equal(Split.load(path, n_rows=10).train, split.train)
    with pytest.raises(DataError, match="made for 10 rows, but the dataset has 11"):
        Split.load(path, n_rows=11)
    np.savez(path, train=np.arange(3), tune=np.arange(0), test=np.arange(2, 4), n_rows=10)
    with pytest.raises(DataError, match=r"split.npz: .*overlap"):
        Split.load(path)
    path.write_bytes(path.read_bytes()[:100])
    with pytest.raises(DataError, match="not a usable split"):
        Split.load(path)


@pytest.mark.parametrize(
    ("rows", "rule"), [([2, 1], "increasing"), ([1, 1], "increasing"), ([0, 9], "lie in 0 to 4")]
)
def test_a_split_refuses_rows_that_are_not_row_numbers(rows, rule):
    with pytest.raises(DataError, match=rule):
        Split(np.array(rows), np.array([], dtype=np.int64), np.array([3]), 5)


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
