import bz2
import gzip
import io
import tarfile

import pytest

from workflow.data.archives import extract, read_bounded
from workflow.data.errors import DataError


@pytest.mark.parametrize("pack", [bytes, gzip.compress, bz2.compress])
def test_bytes_are_unpacked_up_to_the_limit(tmp_path, pack):
    path = tmp_path / "packed"
    path.write_bytes(pack(b"0" * 1000))
    assert read_bounded(path, 1000) == b"0" * 1000
    with pytest.raises(DataError, match="more than the 999 bytes"):
        read_bounded(path, 999)


@pytest.mark.parametrize("pack", [gzip.compress, bz2.compress])
@pytest.mark.parametrize("harm", [lambda b: b[:-9], lambda b: b[:20] + b"\xff\x00" + b[22:]])
def test_damaged_packing_is_named(tmp_path, pack, harm):
    path = tmp_path / "packed"
    path.write_bytes(harm(pack(bytes(range(256)) * 40)))
    with pytest.raises(DataError, match="packed: cannot be unpacked"):
        read_bounded(path, 10**6)


def archive(path, *members):
    with tarfile.open(path, "w:gz") as tar:
        for name, settings in members:
            info = tarfile.TarInfo(name)
            body = settings.pop("body", b"")
            info.size = len(body)
            for key, value in settings.items():
                setattr(info, key, value)
            tar.addfile(info, io.BytesIO(body))
    return path


def test_wanted_members_are_extracted_under_our_names(tmp_path):
    source = archive(tmp_path / "a.tgz", ("p/one", {"body": b"1"}), ("p/two", {"body": b"2"}))
    extract(source, {"p/two": "mine"}, tmp_path, limit=10)
    assert (tmp_path / "mine").read_bytes() == b"2"
    assert not (tmp_path / "p").exists()
    with pytest.raises(DataError, match=r"lacks \['p/three'\]"):
        extract(source, {"p/three": "mine"}, tmp_path, limit=10)


HOSTILE = {
    "absolute": ("/rnca-escaped", {"body": b"!"}),
    "upwards": ("p/../../escaped", {"body": b"!"}),
    "symlink": ("p/link", {"type": tarfile.SYMTYPE, "linkname": "/etc/passwd"}),
    "hard link": ("p/link", {"type": tarfile.LNKTYPE, "linkname": "p/one"}),
    "device": ("p/null", {"type": tarfile.CHRTYPE, "devmajor": 1, "devminor": 3}),
    "pipe": ("p/pipe", {"type": tarfile.FIFOTYPE}),
}


@pytest.mark.parametrize("case", HOSTILE)
def test_hostile_archives_are_refused(tmp_path, case):
    name, settings = HOSTILE[case]
    source = archive(tmp_path / "a.tgz", (name, dict(settings)), ("p/one", {"body": b"1"}))
    out = tmp_path / "out"
    out.mkdir()
    with pytest.raises(DataError, match="refused"):
        extract(source, {name: "mine", "p/one": "one"}, out, limit=10)
    assert not list(out.iterdir())
    assert {path.name for path in tmp_path.iterdir()} == {"a.tgz", "out"}


def test_archive_bombs_and_cut_archives_are_refused(tmp_path):
    source = archive(tmp_path / "a.tgz", ("one", {"body": b"0" * 10**6}))
    with pytest.raises(DataError, match="more than the 1000 bytes"):
        extract(source, {"one": "one"}, tmp_path, limit=1000)
    source.write_bytes(source.read_bytes()[:300])
    with pytest.raises(DataError, match="not a whole tar archive"):
        extract(source, {"one": "one"}, tmp_path, limit=10**7)
