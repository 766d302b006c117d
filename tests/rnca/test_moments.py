"""Streaming moments against np.cov, and files of moments against damage."""

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
    expected = np.cov(np.hstack([zx, zy]).T)
    assert moments.n == len(zx)
    assert_allclose(joint(moments), expected, atol=rtol * np.abs(expected).max())
    assert_allclose(moments.mean("x"), zx.mean(axis=0), rtol=rtol)
    assert_allclose(moments.mean("y"), zy.mean(axis=0), rtol=rtol)


@pytest.mark.parametrize("cuts", [(), (250,), (1, 2, 3), (499,), tuple(range(7, 500, 7))])
def test_any_chunking_gives_the_covariance(z, cuts):
    moments = Moments(4, 3)
    for zx, zy in zip(np.split(z[0], cuts), np.split(z[1], cuts), strict=True):
        moments.update(zx, zy)
    assert_same(moments, *z)


def test_one_view(z):
    moments = Moments(4).update(z[0][:100]).update(z[0][100:])
    assert not moments.two_views
    assert_allclose(moments.covariance("xx"), np.cov(z[0].T), rtol=1e-12)


def test_features_with_a_large_mean_lose_no_digits(z):
    # About the origin the sums would leave 1e-16 * (1e8)^2 = 1 of the covariance.
    moved = z[0] + 1e8, z[1] - 1e8
    moments = Moments(4, 3)
    for rows in np.split(np.arange(500), 5):
        moments.update(moved[0][rows], moved[1][rows])
    assert_same(moments, *moved, rtol=1e-11)


def test_float32_features_are_accumulated_in_float64():
    # Each product is exact in float64; summed in float32, the small ones would vanish.
    z = np.float32(1e4) + np.arange(20_000, dtype=np.float32)[:, None] % 3
    moments = Moments(1)
    for rows in np.array_split(z, 9):
        moments.update(rows)
    assert_allclose(moments.covariance("xx"), np.cov(z.T.astype(float)), rtol=1e-12)


def test_input_is_not_changed(z):
    before = z[0].copy(), z[1].copy()
    Moments(4, 3).update(*z).update(*z)
    assert_array_equal(z[0], before[0])
    assert_array_equal(z[1], before[1])


def test_non_contiguous_features(z):
    wide = np.repeat(z[0], 2, axis=1)[:, ::2]
    assert_same(Moments(4, 3).update(wide, np.asfortranarray(z[1])), *z)


def parts(z, cuts):
    return [
        Moments(4, 3).update(zx, zy)
        for zx, zy in zip(np.split(z[0], cuts), np.split(z[1], cuts), strict=True)
    ]


def test_merge_is_associative(z):
    a, b, c = parts(z, (100, 101))
    left = a.merge(b).merge(c)
    a, b, c = parts(z, (100, 101))
    right = a.merge(b.merge(c))
    assert_same(left, *z)
    assert_allclose(joint(left), joint(right), rtol=1e-12)


def test_merge_of_shards_with_far_apart_means(z):
    far = np.r_[z[0][:250], z[0][250:] + 1e6], z[1]
    first, second = parts(far, (250,))
    assert_same(first.merge(second), *far, rtol=1e-11)


def test_merge_leaves_the_other_alone(z):
    first, second = parts(z, (250,))
    before = joint(second)
    first.merge(second)
    first.update(*z)
    assert_array_equal(joint(second), before)


def test_merging_with_nothing_changes_nothing(z):
    whole = Moments(4, 3).update(*z)
    assert_same(Moments(4, 3).merge(whole), *z)
    assert_same(whole.merge(Moments(4, 3)), *z)
    assert_same(whole.update(z[0][:0], z[1][:0]), *z)


def test_leading_blocks_and_rows(z):
    moments = Moments(4, 3).update(*z)
    C = np.cov(z[0].T)
    assert_allclose(moments.covariance("xx", 2), C[:2, :2], rtol=1e-12)
    assert_allclose(moments.covariance("xy", 2), joint(moments)[:2, 4:], rtol=1e-12)


def test_covariances_larger_than_a_block_are_symmetric():
    z = np.random.default_rng(0).normal(size=(50, 1100))
    moments = Moments(1100).update(z)
    moments.xx[np.triu_indices(1100, 1)] = np.nan  # which no one may read
    assert_allclose(moments.covariance("xx"), np.cov(z.T), rtol=1e-10, atol=1e-14)


@pytest.mark.parametrize("rows", [0, 1])
def test_too_few_rows_have_no_covariance(z, rows):
    moments = Moments(4, 3).update(z[0][:rows], z[1][:rows])
    for ask in (lambda: moments.covariance("xx"), lambda: moments.mean("x")):
        with pytest.raises(ValueError, match=f"moments of {rows} rows: at least 2 rows"):
            ask()


def test_updates_of_the_wrong_shape_are_refused(z):
    zx, zy = z
    moments = Moments(4, 3)
    for bad, words in (
        ((zx,), "2 view.s., updated with 1"),
        ((zx[:, :3], zy), r"zx has shape \(500, 3\), expected \(500, 4\)"),
        ((zx, zy[:400]), r"zy has shape \(400, 3\), expected \(500, 3\)"),
        ((zx[0], zy), r"zx has shape \(4,\)"),
    ):
        with pytest.raises(ValueError, match=words):
            moments.update(*bad)
    with pytest.raises(ValueError, match=r"1 view.s., updated with 2"):
        Moments(4).update(zx, zy)
    assert moments.n == 0


def test_other_moments_do_not_merge(z):
    moments = Moments(4, 3, features="abc").update(*z)
    with pytest.raises(ValueError, match=r"sizes: \(4, 2\) into \(4, 3\)"):
        moments.merge(Moments(4, 2, features="abc"))
    with pytest.raises(ValueError, match="sizes"):
        moments.merge(Moments(4, features="abc"))
    with pytest.raises(ValueError, match="other features: xyz into abc"):
        moments.merge(Moments(4, 3, features="xyz"))


@pytest.mark.parametrize("sizes", [(0,), (3, 0), (-1, 2)])
def test_sizes_must_be_positive(sizes):
    with pytest.raises(ValueError, match="must be >= 1"):
        Moments(*sizes)


@pytest.fixture
def saved(z, tmp_path):
    path = tmp_path / "moments.npz"
    Moments(4, 3, features="abc").update(*z).save(path)
    return path


def test_saved_moments_come_back(z, saved):
    loaded = Moments.load(saved, features="abc")
    assert_same(loaded, *z)
    assert loaded.features == "abc"
    loaded.merge(Moments(4, 3, features="abc").update(*z))
    assert loaded.n == 1000


def test_saved_moments_of_one_view_come_back(z, tmp_path):
    Moments(4).update(z[0]).save(tmp_path / "one.npz")
    loaded = Moments.load(tmp_path / "one.npz")
    assert not loaded.two_views
    assert_allclose(loaded.covariance("xx"), np.cov(z[0].T), rtol=1e-12)


def test_saving_leaves_one_file_under_the_name_given(z, tmp_path):
    for _ in range(2):
        Moments(4, 3).update(*z).save(tmp_path / "no-suffix")
    assert [path.name for path in tmp_path.iterdir()] == ["no-suffix"]


def test_a_failed_save_keeps_the_old_file(z, saved, monkeypatch):
    before = saved.read_bytes()
    monkeypatch.setattr("os.fsync", lambda file: (_ for _ in ()).throw(OSError("disk full")))
    with pytest.raises(OSError, match="disk full"):
        Moments(4, 3).update(*z).save(saved)
    assert saved.read_bytes() == before
    assert [path.name for path in saved.parent.iterdir()] == [saved.name]


def test_a_file_of_other_features_or_rows_is_refused(saved):
    assert Moments.load(saved, features="abc", n=500).n == 500
    with pytest.raises(ValueError, match=r"moments.npz: computed with other features .*abc.*xyz"):
        Moments.load(saved, features="xyz")
    with pytest.raises(ValueError, match=r"moments.npz: moments of 500 rows, not of 400"):
        Moments.load(saved, n=400)


def test_a_file_cut_anywhere_is_refused(saved):
    whole = saved.read_bytes()
    for length in range(0, len(whole), 61):
        saved.write_bytes(whole[:length])
        with pytest.raises(ValueError, match=r"not a complete file of moments .* Delete it"):
            Moments.load(saved)


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


@pytest.mark.parametrize("what", ["garbage", "npy", "empty", "text", "pickle", "foreign npz"])
def test_a_file_of_another_kind_is_refused(tmp_path, what):
    path = tmp_path / "moments.npz"
    if what == "npy":
        with path.open("wb") as file:
            np.save(file, np.eye(3))
    elif what == "foreign npz":
        np.savez(path, weights=np.eye(3))
    else:
        contents = {
            "garbage": bytes(range(256)) * 9,
            "empty": b"",
            "text": b"n,m\n1,2\n",
            "pickle": b"\x80\x04N.",
        }
        path.write_bytes(contents[what])
    with pytest.raises(ValueError, match=r"moments.npz: not a complete file of moments"):
        Moments.load(path)


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


def test_a_missing_file_is_reported_as_missing(tmp_path):
    with pytest.raises(FileNotFoundError):
        Moments.load(tmp_path / "none.npz")


def test_targets_leave_their_own_covariance_out(z, tmp_path):
    halves = [
        Moments(4, 3, targets=True).update(zx, zy)
        for zx, zy in zip(np.split(z[0], [200]), np.split(z[1], [200]), strict=True)
    ]
    halves[1].save(tmp_path / "half.npz")
    moments = halves[0].merge(Moments.load(tmp_path / "half.npz"))
    whole = Moments(4, 3).update(*z)
    for which in ("xx", "xy"):
        assert_allclose(moments.covariance(which), whole.covariance(which), rtol=1e-12)
    assert_allclose(moments.mean("y"), whole.mean("y"), rtol=1e-12)
    assert moments.yy.shape == (0, 0)
    with pytest.raises(ValueError, match="do not hold the targets' own covariance yy"):
        moments.covariance("yy")
    with pytest.raises(ValueError, match="other targets: False into True"):
        moments.merge(whole)
    with pytest.raises(ValueError, match="targets are a second view"):
        Moments(4, targets=True)


def test_rows_of_any_float_are_accumulated_in_float64(z):
    wide = [np.asfortranarray(part, dtype=np.longdouble) for part in z]
    assert_same(Moments(4, 3).update(*wide), *z)


def test_moments_merged_into_empty_ones_keep_their_digits():
    # About 0 the squares would be 1e16, and their rounding errors as large as the variances.
    z = 1e8 + np.random.default_rng(0).normal(size=(500, 3))
    merged = Moments(3).merge(Moments(3).update(z))
    assert_allclose(merged.covariance("xx"), np.cov(z.T), atol=1e-6)


@pytest.mark.parametrize(("sizes", "name"), [((0, 2), "m_x=0"), ((2, 0), "m_y=0")])
def test_no_features_are_refused_by_name(sizes, name):
    with pytest.raises(ValueError, match=f"^{name}: the number of features must be >= 1"):
        Moments(*sizes)
