import numpy as np
import pytest

from workflow.data.views import RowView, column_moments, standardised


@pytest.fixture
def array(tmp_path):
    values = np.random.default_rng(0).normal(1000, 2, size=(5000, 4)).astype(np.float32)
    values[:, 3] = 7
    np.save(tmp_path / "a.npy", values)
    return np.load(tmp_path / "a.npy", mmap_mode="r")


def test_rows_are_read_as_asked_for(array):
    rows = np.array([5, 2, 9])
    view = RowView(array, rows)
    assert view.shape == (3, 4) == np.asarray(view).shape
    assert view.dtype == np.float32
    assert np.array_equal(view[1:], array[[2, 9]])
    assert np.array_equal(view[np.array([2, 0])], array[[9, 5]])
    assert np.array_equal(RowView(array)[3:5], array[3:5])


def test_standardised_by_training_rows(array):
    train, test = np.arange(0, 4000), np.arange(4000, 5000)
    exact = array[train].astype(np.float64)
    mean, scale = column_moments(array, train)
    assert mean == pytest.approx(exact.mean(axis=0), rel=1e-14)
    assert scale[:3] == pytest.approx(exact.std(axis=0)[:3], rel=1e-12)
    assert scale[3] == 1
    view = standardised(array, test, by=train)
    assert view.dtype == np.float32
    assert np.allclose(view[10:20], (array[4010:4020] - mean) / scale, atol=1e-6)
    assert standardised(array, train)[:].astype(float).std(axis=0) == pytest.approx([1, 1, 1, 0])


def test_integers_are_standardised_in_float64():
    view = standardised(np.arange(12, dtype=np.uint8).reshape(6, 2))
    assert view.dtype == view[:2].dtype == np.float64
    assert view[:].mean(axis=0) == pytest.approx([0, 0])


def test_a_large_constant_column_is_constant():
    assert column_moments(np.full((3000, 1), 0.1))[1] == 1


def test_shapes_that_do_not_fit_are_refused():
    with pytest.raises(ValueError, match="two dimensions"):
        RowView(np.ones(3))
    with pytest.raises(ValueError, match=r"offset of shape \(3,\) does not fit columns \(2,\)"):
        RowView(np.ones((3, 2)), offset=np.ones(3))
