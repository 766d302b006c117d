"""Streaming moments against np.cov, and files of moments against damage."""

from io import BytesIO

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from rnca import Moments


@pytest.fixture
def z():
    rng = np.random.default_rng(0)
    zx = rng.normal(size=(500, 4)) @ rng.normal(size=(4, 4)) + 3
    return zx, zx[:, :3] ** 2 + rng.normal(size=(500, 3))


def joint(moments):
    cross = moments.covariance("xy")
    return np.block([[moments.covariance("xx"), cross], [cross.T, moments.covariance("yy")]])


def assert_same(moments, zx, zy, rtol=1e-12):
    expected = np.cov(np.hstack([zx, zy]).astype(float).T)
    assert moments.n == len(zx)
    assert_allclose(joint(moments), expected, atol=rtol * np.abs(expected).max())
    assert_allclose(moments.mean("x"), zx.mean(axis=0), rtol=rtol)
    assert_allclose(moments.mean("y"), zy.mean(axis=0), rtol=rtol)


FORMS = {
    "plain": lambda zx, zy: (zx, zy),
    # About the origin the sums would leave 1e-16 * (1e8)^2 = 1 of the covariance.
    "large mean": lambda zx, zy: (zx + 1e8, zy - 1e8),
    "halves far apart": lambda zx, zy: (np.r_[zx[:250], zx[250:] + 1e6], zy),
    "not contiguous": lambda zx, zy: (np.repeat(zx, 2, axis=1)[:, ::2], np.asfortranarray(zy)),
    "long doubles": lambda zx, zy: (zx.astype(np.longdouble), np.asfortranarray(zy, np.longdouble)),
}


@pytest.mark.parametrize("cuts", [(), (250,), (1, 2, 3), (499,), tuple(range(7, 500, 7)), (0, 500)])
@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_any_chunks_and_shards_give_the_covariance(z, form, cuts):
    given = form(*z)
    before = [view.copy() for view in given]
    updated, merged = Moments(4, 3), Moments(4, 3)
    for zx, zy in zip(*(np.split(view, cuts) for view in given), strict=True):
        updated.update(zx, zy)
        merged.merge(Moments(4, 3).update(zx, zy))
    for moments in (updated, merged):
        assert_same(moments, *given, rtol=1e-11)
    for view, kept in zip(given, before, strict=True):
        assert_array_equal(view, kept)


def test_merge_leaves_the_other_alone(z):
    other = Moments(4, 3).update(*z)
    before = joint(other)
    Moments(4, 3).merge(other).update(*z)
    assert_array_equal(joint(other), before)


def test_float32_features_are_accumulated_in_float64():
    # Each product is exact in float64; summed in float32, the small ones would vanish.
    z = np.float32(1e4) + np.arange(20_000, dtype=np.float32)[:, None] % 3
    moments = Moments(1)
    for rows in np.array_split(z, 9):
        moments.update(rows)
    assert not moments.two_views
    assert_allclose(moments.covariance("xx"), np.cov(z.T.astype(float)), rtol=1e-12)


def test_covariances_larger_than_a_block_and_their_leading_blocks():
    z = np.random.default_rng(0).normal(size=(50, 1400))
    moments = Moments(1100, 300).update(z[:, :1100], z[:, 1100:])
    moments.xx[np.triu_indices(1100, 1)] = np.nan  # which no one may read
    expected = np.cov(z.T)
    for m in (1100, 600, 2):
        for which, columns in (("xx", slice(m)), ("xy", slice(1100, None))):
            found = moments.covariance(which, m)
            assert_allclose(found, expected[:m, columns], rtol=1e-10, atol=1e-14)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda zx, zy: Moments(0, 2), "^m_x=0: the number of features must be >= 1"),
        (lambda zx, zy: Moments(-1, 2), "^m_x=-1: the number of features must be >= 1"),
        (lambda zx, zy: Moments(2, 0), "^m_y=0: the number of features must be >= 1"),
        (lambda zx, zy: Moments(4, targets=True), "targets are a second view"),
        (lambda zx, zy: Moments(4).covariance("xx"), "moments of 0 rows: at least 2 rows"),
        (lambda zx, zy: Moments(4).update(zx[:1]).mean("x"), "moments of 1 rows: at least 2 rows"),
        (lambda zx, zy: Moments(4, 3).update(zx), "2 view.s., updated with 1"),
        (lambda zx, zy: Moments(4).update(zx, zy), "1 view.s., updated with 2"),
        (lambda zx, zy: Moments(4, 3).update(zx[:, :3], zy), r"zx has shape \(500, 3\), expected"),
        (lambda zx, zy: Moments(4, 3).update(zx, zy[:400]), r"zy has shape \(400, 3\), expected"),
        (lambda zx, zy: Moments(4, 3).update(zx[0], zy), r"zx has shape \(4,\)"),
        (lambda zx, zy: Moments(4, 3).merge(Moments(4, 2)), r"sizes: \(4, 2\) into \(4, 3\)"),
        (lambda zx, zy: Moments(4, 3).merge(Moments(4)), r"sizes: \(4, None\) into \(4, 3\)"),
        (
            lambda zx, zy: Moments(4, features="abc").merge(Moments(4, features="xyz")),
            "other features: xyz into abc",
        ),
        (
            lambda zx, zy: Moments(4, 3, targets=True).merge(Moments(4, 3)),
            "other targets: False into True",
        ),
        (
            lambda zx, zy: Moments(4, 3, targets=True).update(zx, zy).covariance("yy"),
            "do not hold the targets' own covariance yy",
        ),
    ],
)
def test_what_cannot_be_is_refused(z, call, message):
    with pytest.raises(ValueError, match=message):
        call(*z)


@pytest.fixture
def saved(z, tmp_path):
    path = tmp_path / "moments.npz"
    Moments(4, 3, features="abc").update(*z).save(path)
    return path


def test_saved_moments_come_back(z, saved):
    loaded = Moments.load(saved, features="abc", n=500)
    assert_same(loaded, *z)
    assert loaded.features == "abc"
    assert loaded.merge(Moments(4, 3, features="abc").update(*z)).n == 1000


@pytest.mark.parametrize("targets", [False, True])
def test_moments_that_hold_less_are_saved_and_merged(z, tmp_path, targets):
    path = tmp_path / "no-suffix"
    sizes, views = ((4, 3), z) if targets else ((4,), z[:1])
    halves = [
        Moments(*sizes, targets=targets).update(*(view[rows] for view in views))
        for rows in (slice(200), slice(200, None))
    ]
    for _ in range(2):
        halves[1].save(path)
    assert [file.name for file in tmp_path.iterdir()] == ["no-suffix"]
    moments = halves[0].merge(Moments.load(path))
    whole = Moments(4, 3).update(*z)
    assert_allclose(moments.covariance("xx"), whole.covariance("xx"), rtol=1e-12)
    assert moments.two_views == targets
    if targets:
        assert_allclose(moments.covariance("xy"), whole.covariance("xy"), rtol=1e-12)
        assert_allclose(moments.mean("y"), whole.mean("y"), rtol=1e-12)
        assert moments.yy.shape == (0, 0)


def test_a_failed_save_keeps_the_old_file(z, saved, monkeypatch):
    before = saved.read_bytes()
    monkeypatch.setattr("os.fsync", lambda file: (_ for _ in ()).throw(OSError("disk full")))
    with pytest.raises(OSError, match="disk full"):
        Moments(4, 3).update(*z).save(saved)
    assert saved.read_bytes() == before
    assert [path.name for path in saved.parent.iterdir()] == [saved.name]


def test_a_file_of_other_features_or_rows_is_refused(saved):
    with pytest.raises(ValueError, match=r"moments.npz: computed with other features .*abc.*xyz"):
        Moments.load(saved, features="xyz")
    with pytest.raises(ValueError, match=r"moments.npz: moments of 500 rows, not of 400"):
        Moments.load(saved, n=400)
    with pytest.raises(FileNotFoundError):
        Moments.load(saved.with_name("none.npz"))


@pytest.mark.parametrize("mask", [0xFF, 0x01, 0x20])
def test_a_file_with_a_damaged_byte_is_refused_or_harmless(z, saved, mask):
    whole = saved.read_bytes()
    harmless = 0
    for position in range(0, len(whole), 5):
        damaged = bytearray(whole)
        damaged[position] ^= mask
        saved.write_bytes(damaged)
        try:
            loaded = Moments.load(saved, features="abc")
        except ValueError:
            continue
        assert_same(loaded, *z)  # a timestamp or attribute of the archive
        harmless += 1
    assert harmless < len(whole) / 5 / 2


def archived(write, *arrays, **named):
    file = BytesIO()
    write(file, *arrays, **named)
    return file.getvalue()


def test_a_file_cut_anywhere_or_of_another_kind_is_refused(saved):
    whole = saved.read_bytes()
    for content in (
        *(whole[:length] for length in range(0, len(whole), 61)),
        bytes(range(256)) * 9,
        b"n,m\n1,2\n",
        b"\x80\x04N.",  # a pickle
        archived(np.save, np.eye(3)),
        archived(np.savez, weights=np.eye(3)),
    ):
        saved.write_bytes(content)
        with pytest.raises(ValueError, match=r"s.npz: not a complete file of moments .* Delete it"):
            Moments.load(saved)


@pytest.mark.parametrize(
    ("name", "array", "words"),
    [
        ("header", np.array([99, 500, 4, 3]), "format 99, this version reads"),
        ("header", np.array([1, 500, 5, 3]), "a header of 5 and 3 features before other arrays"),
        ("xx", np.zeros((4, 4), np.float32), "xx is float32"),
        ("sum_y", np.zeros(2), "sum_y"),
        ("header", np.array([1, -1, 4, 3]), "-1 rows"),
        ("xx", np.full((4, 4), np.nan), "xx has a value that is not finite"),
        ("sum_x", np.full(4, np.inf), "sum_x has a value that is not finite"),
    ],
)
def test_a_file_of_other_shapes_or_format_is_refused(saved, name, array, words):
    with np.load(saved) as stored:
        arrays = {**stored, name: array}
    np.savez(saved, **arrays)
    with pytest.raises(ValueError, match=words):
        Moments.load(saved)
