"""Data sets: embedded and fetched, prepared to one memory-mappable form."""

from rnca.datasets.catalogue import CATALOGUE, Dataset, dataset, prepare
from rnca.datasets.errors import DataError, FetchError
from rnca.datasets.prepared import Prepared, load_prepared, write_prepared

__all__ = [
    "CATALOGUE",
    "DataError",
    "Dataset",
    "FetchError",
    "Prepared",
    "dataset",
    "load_prepared",
    "prepare",
    "write_prepared",
]
