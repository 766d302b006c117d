"""The one table of datasets: what each is called, what it holds, how it is made."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from rnca.datasets import embedded
from rnca.datasets.errors import DataError
from rnca.datasets.prepared import Content, Prepared, load_prepared, write_prepared


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
    stand_in : str or None
        What it stands in for in the default run.
    """

    name: str
    title: str
    arrays: tuple[str, ...]
    build: Callable[[Mapping[str, Path]], Content]
    stand_in: str | None = None

    @property
    def kind(self) -> str:
        """How it is had: "embedded" or "fetched"."""
        return "embedded"


def _embedded(make: Callable[[], Content]) -> Callable[[Mapping[str, Path]], Content]:
    return lambda _files: make()


CATALOGUE = {
    dataset.name: dataset
    for dataset in (
        Dataset(
            "digits",
            "scikit-learn digits, left and right halves",
            ("x", "y", "images", "labels"),
            _embedded(embedded.digits),
            stand_in="MNIST",
        ),
        Dataset(
            "patches",
            "colour patches of two photographs",
            ("images", "labels"),
            _embedded(embedded.patches),
            stand_in="CIFAR-10",
        ),
        Dataset(
            "digits-attributes",
            "scikit-learn digits with facts about each class",
            ("x", "labels", "attributes"),
            _embedded(embedded.digits_attributes),
            stand_in="Animals with Attributes",
        ),
        Dataset(
            "synthetic-speech",
            "synthetic pair of views with known correlations",
            ("x", "y", "groups", "given_split"),
            _embedded(embedded.synthetic_speech),
            stand_in="XRMB",
        ),
    )
}


def dataset(name: str) -> Dataset:
    """Return the entry of that name, or raise DataError with the names there are."""
    if name not in CATALOGUE:
        raise DataError(f"unknown dataset {name!r}: known are {', '.join(CATALOGUE)}")
    return CATALOGUE[name]


def prepare(
    name: str,
    destination: str | os.PathLike[str],
    *,
    cache: str | os.PathLike[str] | None = None,
) -> Prepared:
    """Fetch what is needed, parse it, and write it in prepared form.

    Parameters
    ----------
    name : str
        A name of the catalogue.
    destination : path
        The directory to be made.
    cache : path, optional
        Where fetched files are kept; by default RNCA_CACHE, else ``data/cache``.

    Returns
    -------
    Prepared
        The dataset, opened.
    """
    entry = dataset(name)
    content = entry.build({})
    meta = {
        **content.meta,
        "name": entry.name,
        "kind": entry.kind,
        "title": entry.title,
        "stand_in": entry.stand_in,
    }
    write_prepared(destination, content.arrays, meta)
    return load_prepared(destination)
