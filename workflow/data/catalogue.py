"""The one table of datasets: what each is called, what it holds, how it is made."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from pkgutil import resolve_name
from typing import Any

from workflow.data import DataError, sources
from workflow.data.fetch import fetch_source, in_mirror, is_cached
from workflow.data.prepared import Content, Prepared, load_prepared, write_prepared
from workflow.data.sources import Source, file_sha256


@dataclass(frozen=True)
class Facts:
    """What is known of a dataset before it is prepared; None where only its files tell."""

    arrays: tuple[str, ...]
    rows: int | None = None
    columns: int | None = None  # of a picture or, without pictures, of both views together
    training_rows: int | None = None  # of the split that its source gives


@dataclass(frozen=True)
class Dataset:
    """One dataset; without a source it is embedded."""

    name: str
    title: str
    facts: Facts
    parser: str  # its name: only the job that prepares this dataset imports the module
    prepared_mb: int  # millions of bytes
    source: Source | None = None
    stand_in: str | None = None  # what it stands in for in the default run


def _recordings(name: str, speakers: Sequence[str], rows: int, prepared_mb: int) -> Dataset:
    source = sources.xrmb_recordings(speakers)
    facts = Facts(("x", "y", "groups", "speakers"), rows, 385)
    return Dataset(name, source.title, facts, "microbeam:parse", prepared_mb, source)


CATALOGUE = {
    dataset.name: dataset
    for dataset in (
        Dataset(
            "digits",
            "scikit-learn digits, left and right halves",
            Facts(("x", "y", "images", "labels"), 1_797, 64),
            "embedded:digits",
            1,
            stand_in="MNIST",
        ),
        Dataset(
            "patches",
            "colour patches of two photographs",
            Facts(("images", "labels"), 8_480, 192),
            "embedded:patches",
            2,
            stand_in="CIFAR-10",
        ),
        Dataset(
            "digits-attributes",
            "scikit-learn digits with facts about each class",
            Facts(("x", "labels", "attributes"), 1_797, 64),
            "embedded:digits_attributes",
            1,
            stand_in="Animals with Attributes",
        ),
        Dataset(
            "synthetic-speech",
            "synthetic pair of views with known correlations",
            Facts(("x", "y", "groups", "given_split"), 5_000, 385, 3_000),
            "embedded:synthetic_speech",
            8,
            stand_in="XRMB",
        ),
        Dataset(
            "rings",
            "three rings in two views, of which linear methods see nothing",
            Facts(("x", "y", "labels"), 20_000, 20),
            "embedded:rings",
            2,
        ),
        Dataset(
            "mnist",
            "MNIST, left and right halves",
            Facts(("x", "y", "images", "labels", "given_split"), 70_000, 784, 60_000),
            "mnist:parse",
            110,
            sources.MNIST,
        ),
        Dataset(
            "cifar10",
            "CIFAR-10",
            Facts(("images", "labels", "given_split"), 60_000, 3_072, 50_000),
            "cifar:parse",
            185,
            sources.CIFAR10,
        ),
        Dataset(
            "awa",
            "Animals with Attributes, SURF histograms",
            Facts(("x", "labels", "attributes"), 30_475, 2_000),
            "awa:parse",
            123,
            sources.AWA,
        ),
        Dataset(
            "xrmb",
            "XRMB, the paper's own split",
            Facts(("x", "y", "given_split"), None, 385, 30_000),
            "speech:parse",
            80,
            sources.XRMB,
        ),
        _recordings("xrmb-jw61", ("JW61",), 30_506, 48),
        _recordings("xrmb-jw62", ("JW62",), 30_535, 48),
        _recordings("xrmb-jw63", ("JW63",), 28_257, 44),
        _recordings("xrmb-jw", ("JW61", "JW62", "JW63"), 89_298, 139),
    )
}


def dataset(name: str) -> Dataset:
    """Return the entry of that name, or raise DataError with the names there are."""
    if name not in CATALOGUE:
        raise DataError(f"unknown dataset {name!r}: known are {', '.join(CATALOGUE)}")
    return CATALOGUE[name]


def parser_script(name: str) -> str:
    """Return the module that parses a dataset, or reads one of the user's own."""
    module = CATALOGUE[name].parser.partition(":")[0] if name in CATALOGUE else "own"
    return f"data/{module}.py"


def facts_of(name: str) -> Facts:
    """Return what is known of a dataset: nothing but its views, if it is the user's own."""
    return CATALOGUE[name].facts if name in CATALOGUE else Facts(("x", "y"))


def standing_in(datasets: Sequence[str]) -> list[str]:
    """List the datasets that stand in for the paper's: all, in a run that fetches none."""
    embedded = [name for name in datasets if name in CATALOGUE and CATALOGUE[name].source is None]
    return embedded if set(datasets) == set(embedded) else []


def availability(entry: Dataset, cache: Path) -> str:
    """Say, without touching the network, where a dataset would come from."""
    if entry.source is None:
        return "embedded"
    files = entry.source.files.values()
    if all(is_cached(file, cache) for file in files):
        return "in the cache"
    mirrored = {file.name: in_mirror(file) for file in files if not is_cached(file, cache)}
    if all(mirrored.values()):
        return "in the mirror"
    wrong = next((name for name, is_right in mirrored.items() if is_right is False), None)
    return "from the network, untried" + (
        f" (wrong content in the mirror: {wrong})" if wrong else ""
    )


def prepare(
    name: str,
    destination: str | os.PathLike[str],
    *,
    entry: Mapping[str, Any] | None = None,
    checksums: Mapping[str, str] | None = None,
    cache: str | os.PathLike[str] | None = None,
) -> Prepared:
    """Fetch a dataset of the catalogue, or read your own (`entry`), and write its prepared form.

    Fetched files are kept in `cache`: by default RNCA_CACHE, else ``data/cache``. Your own files
    must have the `checksums`, if they are given, when all has been read.
    """
    if entry is not None:
        own = resolve_name("workflow.data.own")
        described = own.OwnDataset.model_validate(entry)
        content: Content = own.read(name, described)
        expected = checksums or {file: file_sha256(Path(file)) for file in described.files()}
        sources = [{"file": file, "sha256": sha256} for file, sha256 in expected.items()]
        meta: dict[str, Any] = {"name": name, "kind": "own", "sources": sources}
    else:
        content, meta = _from_catalogue(dataset(name), cache)
    write_prepared(destination, content.arrays, {**content.meta, **meta})
    for file, sha256 in (checksums or {}).items():
        if file_sha256(Path(file)) != sha256:
            raise DataError(f"{file}: changed since the run began; run again to use it as it is")
    return load_prepared(destination)


def _from_catalogue(
    entry: Dataset, cache: str | os.PathLike[str] | None
) -> tuple[Content, dict[str, Any]]:
    parse = resolve_name(f"workflow.data.{entry.parser}")
    kind = "embedded" if entry.source is None else "fetched"
    meta: dict[str, Any] = {"name": entry.name, "kind": kind}
    meta |= {"title": entry.title, "stand_in": entry.stand_in}
    if entry.source is None:
        return parse(), meta
    files = fetch_source(entry.source, cache)
    meta |= {
        "licence": entry.source.licence,
        "citation": entry.source.citation,
        "homepage": entry.source.homepage,
        "notes": list(entry.source.notes),
        "sources": [{"file": name, "sha256": file_sha256(path)} for name, path in files.items()],
    }
    return parse(files), meta


if __name__ == "__main__":
    from workflow.lib.job import job

    with job(snakemake) as asked:
        name, output = snakemake.wildcards.dataset, snakemake.output[0]
        prepare(name, output, entry=asked.entry, checksums=asked.own)
