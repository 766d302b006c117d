import gzip
import hashlib

import numpy as np
import pytest
import rdata
from scipy.io import savemat

from workflow.data.checksums import Checksum
from workflow.data.errors import DataError
from workflow.data.matlab import MatFile
from workflow.data.speech import paper_parts, parse_r_parts

RNG = np.random.default_rng(0)
A = RNG.normal(size=(30, 273)).astype(np.float32)
B = RNG.normal(size=(30, 112)).astype(np.float32)


@pytest.fixture
def mat(tmp_path):
    def make(**options):
        savemat(tmp_path / "1.mat", {"X1": A, "XTe1": A}, **options)
        return tmp_path / "1.mat"

    return make


BAD_MAT = {
    "cut short": (lambda data: data[: len(data) // 2], "damaged|no numeric variable"),
    "version 7.3": (lambda data: b"MATLAB 7.3 MAT-file" + data[19:], "'-v7'"),
    "no MATLAB file": (lambda data: b"\0" * len(data), "not a MATLAB file"),
    "empty": (lambda data: b"", "not a MATLAB file"),
    "garbage": (lambda data: data[:128] + b"\xff" * 500, "damaged"),
}


@pytest.mark.parametrize("compressed", [False, True])
@pytest.mark.parametrize("case", BAD_MAT)
def test_bad_mat_files_are_named(mat, case, compressed):
    harm, message = BAD_MAT[case]
    path = mat(do_compression=compressed)
    path.write_bytes(harm(path.read_bytes()))
    with pytest.raises(DataError, match=message):
        MatFile(path).read("XTe1")


def test_version_4_is_refused(mat):
    path = mat(format="4")
    with pytest.raises(DataError, match="not a MATLAB file of version 5 to 7"):
        MatFile(path)


R = {"x_tr": A[:20], "y_tr": B[:20], "x_te": A[20:], "y_te": B[20:]}


@pytest.fixture
def r_parts(tmp_path):
    def make(values=R, harm=lambda data: data):
        path = tmp_path / "whole"
        made = {name: np.asarray(value, dtype=np.float64) for name, value in values.items()}
        rdata.write_rda(path, made, compression="gzip")
        data = harm(path.read_bytes())
        parts = tmp_path / "xrmb.1", tmp_path / "xrmb.2"
        parts[0].write_bytes(data[:1000])
        parts[1].write_bytes(data[1000:])
        return parts

    return make


def test_r_parts_are_joined(r_parts):
    arrays = parse_r_parts(r_parts()).arrays
    assert np.array_equal(arrays["x"], A)
    assert np.array_equal(arrays["y"], B)
    assert np.bincount(arrays["given_split"], minlength=3).tolist() == [20, 0, 10]


def test_training_rows_beyond_the_papers_become_tune():
    assert np.bincount(paper_parts(30_100, 70)).tolist() == [30_000, 100, 70]


def _repacked(harm):
    return lambda data: gzip.compress(harm(gzip.decompress(data)))


BAD_R = {
    "cut short": (R, lambda data: data[:-50], "cannot be unpacked"),
    "parsed short": (R, _repacked(lambda data: data[:-5000]), "not a whole R file"),
    "other version": (R, _repacked(lambda data: b"RDX9\n" + data[5:]), "not a whole R file"),
    "not R": (R, lambda data: b"hello" * 1000, "not an R save"),
    "missing": ({"x_tr": A}, lambda data: data, r"lacks the matrices \['x_te', 'y_te', 'y_tr'\]"),
    "columns": ({**R, "y_te": B[20:, 1:]}, lambda data: data, "y has .* columns"),
    "rows": ({**R, "y_te": B[21:]}, lambda data: data, "differ in their number of rows"),
    "vector": ({**R, "y_te": B[21]}, lambda data: data, "y_te is not a numeric matrix"),
}


@pytest.mark.parametrize("case", BAD_R)
def test_bad_r_files_are_named(r_parts, case):
    values, harm, message = BAD_R[case]
    with pytest.raises(DataError, match=message):
        parse_r_parts(r_parts(values, harm))


def test_genuine_xrmb_frames_in_r_form(mirror):
    """491 genuine frames, 300 to train and 191 to test, in the form of the authors' file."""
    arrays = parse_r_parts([mirror / "xrmb/sample/xrmb.1", mirror / "xrmb/sample/xrmb.2"]).arrays
    assert np.bincount(arrays["given_split"], minlength=3).tolist() == [300, 0, 191]
    with np.load(mirror / "xrmb/jw11_tp005_491_frames.npz") as frames:
        assert np.array_equal(arrays["x"], frames["X1"])
        assert np.array_equal(arrays["y"], frames["X2"])


def test_git_blob_id(tmp_path):
    file = tmp_path / "hello"
    file.write_bytes(b"hello\n")
    assert Checksum("ce013625030ba8dba906f756967f9e9ca394464a", "git-blob").matches(file)
    assert Checksum(hashlib.sha256(b"hello\n").hexdigest()).matches(file)
    file.write_bytes(b"hello")
    assert not Checksum("ce013625030ba8dba906f756967f9e9ca394464a", "git-blob").matches(file)


@pytest.mark.parametrize("arguments", [("abc",), ("G" * 64,), ("0" * 64, "md5")])
def test_a_checksum_that_is_none_is_refused(arguments):
    with pytest.raises(DataError, match="checksum"):
        Checksum(*arguments)
