"""The one table of datasets: what each is called, what it holds, how it is made."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from workflow.data import awa, cifar, embedded, microbeam, mnist, own, sources, speech
from workflow.data.checksums import file_sha256
from workflow.data.errors import DataError
from workflow.data.fetch import fetch_source, in_mirror, is_cached, with_checksums
from workflow.data.prepared import Content, Prepared, load_prepared, write_prepared
from workflow.data.sources import Source


@dataclass(frozen=True)
class Dataset:
    """One dataset.

    Attributes
    ----------
    name, title : str
    arrays : tuple of str
        The arrays it carries once prepared, known before anything is fetched.
    build : callable
        From the fetched files (by name; empty for embedded data) to the content.
    prepared_mb : int
        The room its prepared form takes, in millions of bytes.
    source : Source or None
        What is fetched for it; None for embedded data.
    stand_in : str or None
        What it stands in for in the default run.
    """

    name: str
    title: str
    arrays: tuple[str, ...]
    build: Callable[[Mapping[str, Path]], Content]
    prepared_mb: int
    source: Source | None = None
    stand_in: str | None = None

    @property
    def kind(self) -> str:
        """How it is had: "embedded" or "fetched"."""
        return "embedded" if self.source is None else "fetched"


def _embedded(make: Callable[[], Content]) -> Callable[[Mapping[str, Path]], Content]:
    return lambda _files: make()


def _recordings(name: str, speakers: Sequence[str], prepared_mb: int) -> Dataset:
    source = sources.xrmb_recordings(speakers)
    arrays = ("x", "y", "groups", "speakers")
    return Dataset(name, source.title, arrays, microbeam.parse, prepared_mb, source)


CATALOGUE = {
    dataset.name: dataset
    for dataset in (
        Dataset(
            "digits",
            "scikit-learn digits, left and right halves",
            ("x", "y", "images", "labels"),
            _embedded(embedded.digits),
            1,
            stand_in="MNIST",
        ),
        Dataset(
            "patches",
            "colour patches of two photographs",
            ("images", "labels"),
            _embedded(embedded.patches),
            2,
            stand_in="CIFAR-10",
        ),
        Dataset(
            "digits-attributes",
            "scikit-learn digits with facts about each class",
            ("x", "labels", "attributes"),
            _embedded(embedded.digits_attributes),
            1,
            stand_in="Animals with Attributes",
        ),
        Dataset(
            "synthetic-speech",
            "synthetic pair of views with known correlations",
            ("x", "y", "groups", "given_split"),
            _embedded(embedded.synthetic_speech),
            8,
            stand_in="XRMB",
        ),
        Dataset(
            "rings",
            "three rings in two views, of which linear methods see nothing",
            ("x", "y", "labels"),
            _embedded(embedded.rings),
            2,
        ),
        Dataset(
            "mnist",
            "MNIST, left and right halves",
            ("x", "y", "images", "labels", "given_split"),
            mnist.parse,
            110,
            sources.MNIST,
        ),
        Dataset(
            "cifar10",
            "CIFAR-10",
            ("images", "labels", "given_split"),
            cifar.parse,
            185,
            sources.CIFAR10,
        ),
        Dataset(
            "awa",
            "Animals with Attributes, SURF histograms",
            ("x", "labels", "attributes"),
            awa.parse,
            123,
            sources.AWA,
        ),
        Dataset(
            "xrmb",
            "XRMB, the paper's own split",
            ("x", "y", "given_split"),
            lambda files: speech.parse_r_parts(list(files.values())),
            80,
            sources.XRMB,
        ),
        *(
            _recordings(f"xrmb-{speaker.lower()}", (speaker,), prepared_mb)
            for speaker, prepared_mb in zip(sources.JW_SPEAKERS, (48, 48, 44), strict=True)
        ),
        _recordings("xrmb-jw", sources.JW_SPEAKERS, 139),
    )
}


def dataset(name: str) -> Dataset:
    """Return the entry of that name, or raise DataError with the names there are."""
    if name not in CATALOGUE:
        raise DataError(f"unknown dataset {name!r}: known are {', '.join(CATALOGUE)}")
    return CATALOGUE[name]


def availability(entry: Dataset, cache: Path, checksums: Mapping[str, str] | None = None) -> str:
    """Say, without touching the network, where a dataset would come from.

    Parameters
    ----------
    entry : Dataset
    cache : Path
    checksums : mapping of str to str, optional
        sha256 of files for which the source publishes none, by file name.
    """
    if entry.source is None:
        return "embedded"
    files = with_checksums(entry.source, checksums or {}).values()
    if any(file.checksum is None for file in files):
        return "needs a checksum from you"
    if all(is_cached(file, cache) for file in files):
        return "in the cache"
    if all(is_cached(file, cache) or in_mirror(file) for file in files):
        return "in the mirror"
    return "from the network, untried"


def prepare(
    name: str,
    destination: str | os.PathLike[str],
    *,
    entry: Mapping[str, Any] | None = None,
    cache: str | os.PathLike[str] | None = None,
    checksums: Mapping[str, str] | None = None,
) -> Prepared:
    """Fetch what is needed, parse it, and write it in prepared form.

    Parameters
    ----------
    name : str
        A name of the catalogue, or any other name if `entry` is given.
    destination : path
        The directory to be made.
    entry : mapping, optional
        A dataset of your own; see `workflow.data.own`.
    cache : path, optional
        Where fetched files are kept; by default RNCA_CACHE, else ``data/cache``.
    checksums : mapping of str to str, optional
        sha256 of files for which the source publishes none, by file name.

    Returns
    -------
    Prepared
        The dataset, opened.
    """
    if entry is not None:
        content, meta = own.read(name, entry), {"name": name, "kind": "own"}
    else:
        content, meta = _from_catalogue(dataset(name), cache, checksums)
    write_prepared(destination, content.arrays, {**content.meta, **meta})
    return load_prepared(destination)


def _from_catalogue(
    entry: Dataset,
    cache: str | os.PathLike[str] | None,
    checksums: Mapping[str, str] | None,
) -> tuple[Content, dict[str, Any]]:
    meta: dict[str, Any] = {
        "name": entry.name,
        "kind": entry.kind,
        "title": entry.title,
        "stand_in": entry.stand_in,
    }
    if entry.source is None:
        return entry.build({}), meta
    files = fetch_source(entry.source, cache, checksums=checksums)
    meta |= {
        "licence": entry.source.licence,
        "citation": entry.source.citation,
        "homepage": entry.source.homepage,
        "notes": list(entry.source.notes),
        "sources": [{"file": name, "sha256": file_sha256(path)} for name, path in files.items()],
    }
    return entry.build(files), meta
