"""The configuration, checked before anything is planned: one sentence per mistake."""

from collections.abc import Iterable, Iterator
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import jsonschema
import yaml
from snakemake.exceptions import WorkflowError
from snakemake.utils import validate

from rnca.datasets.catalogue import CATALOGUE

SCHEMA = Path(__file__).parent / "schemas" / "config.schema.yaml"


def check(config: dict[str, Any]) -> None:
    """Check a configuration and fill in the defaults, in place.

    Raises
    ------
    WorkflowError
        Naming every wrong key or value, the rule it breaks, and where the keys are explained.
    """
    problems = list(_keys_not_text(config)) or list(_breaches(config))
    if not problems:
        validate(config, str(SCHEMA))
        problems = list(_inconsistencies(config))
    if problems:
        listed = "\n".join(f"  {problem}" for problem in problems)
        raise WorkflowError(f"The configuration has mistakes:\n{listed}\nKeys: config/README.md")


def _keys_not_text(value: Any, place: str = "") -> Iterator[str]:
    """Yield the keys that YAML reads as a number, a date or a truth value."""
    if not isinstance(value, dict):
        return
    for key, inner in value.items():
        if not isinstance(key, str):
            yield f"{place or 'the file'}: the key {key!r} is no text; put it in quotes"
        yield from _keys_not_text(inner, f"{place}.{key}".strip("."))


def _breaches(config: dict[str, Any]) -> Iterator[str]:
    """Yield what breaks the schema."""
    schema = yaml.safe_load(SCHEMA.read_text(encoding="utf-8"))
    errors = jsonschema.Draft202012Validator(schema).iter_errors(config)
    for error in sorted(errors, key=lambda error: [str(part) for part in error.path]):
        yield _sentence(error)


def _sentence(error: jsonschema.ValidationError) -> str:
    place = ".".join(map(str, error.absolute_path))
    schema = error.schema if isinstance(error.schema, dict) else {}
    if error.validator == "additionalProperties" and isinstance(error.instance, dict):
        known = list(schema.get("properties", {}))
        unknown = [key for key in error.instance if key not in known]
        return "; ".join(_unknown_key(f"{place}.{key}".strip("."), key, known) for key in unknown)
    rule = schema.get("description", "")
    return f"{place or 'the file'}: {error.message}" + (f" ({rule})" if rule else "")


def _unknown_key(place: str, key: str, known: list[str]) -> str:
    close = get_close_matches(str(key), known, n=1)
    hint = f"did you mean {close[0]!r}?" if close else f"known are {', '.join(known)}"
    return f"{place}: unknown key; {hint}"


def _inconsistencies(config: dict[str, Any]) -> Iterator[str]:
    """Yield what a schema cannot say."""
    arrays = {name: set(dataset.arrays) for name, dataset in CATALOGUE.items()}
    for name, entry in config["datasets"].items():
        if name in CATALOGUE:
            yield f"datasets.{name}: there is a dataset of that name already; choose another name"
        else:
            arrays[name] = _own_arrays(entry)
    for key in ("skip", "prepare"):
        for name in config[key]:
            if name not in arrays:
                yield f"{key}: {_unknown_dataset(name, arrays)}"
    yield from _needless_checksums(config["checksums"])
    for name, experiment in config["rcca"].items():
        yield from _rcca_inconsistencies(f"rcca.{name}", experiment, arrays)


def _own_arrays(entry: dict[str, Any]) -> set[str]:
    if entry["kind"] == "xrmb-mat":
        return {"x", "y", "groups", "given_split"}
    given = {"groups": "groups", "split": "given_split"}
    return {"x", "y"} | {array for key, array in given.items() if key in entry}


def _unknown_dataset(name: str, known: Iterable[str]) -> str:
    return f"unknown dataset {name!r}; known are {', '.join(known)}"


def _needless_checksums(checksums: dict[str, str]) -> Iterator[str]:
    files = [
        name
        for dataset in CATALOGUE.values()
        if dataset.source is not None
        for name, file in dataset.source.files.items()
        if file.checksum is None
    ]
    for name in checksums:
        if name not in files:
            yield f"checksums.{name}: only these files lack a published one: {', '.join(files)}"


def _rcca_inconsistencies(
    place: str, experiment: dict[str, Any], arrays: dict[str, set[str]]
) -> Iterator[str]:
    dataset = experiment["dataset"]
    if dataset not in arrays:
        yield f"{place}.dataset: {_unknown_dataset(dataset, arrays)}"
        return
    if not {"x", "y"} <= arrays[dataset]:
        yield f"{place}.dataset: {dataset!r} does not have two views"
    sizes = experiment["features"]
    if sizes != sorted(set(sizes)):
        yield f"{place}.features: {sizes} must increase"
    if sizes[0] < experiment["components"]:
        yield (
            f"{place}.features: m = {sizes[0]} is less than components = {experiment['components']}"
        )
    scheme, needs = experiment["split"]["scheme"], {"groups": "groups"}
    needs |= {"given": "given_split", "official": "given_split"}
    if scheme in needs and needs[scheme] not in arrays[dataset]:
        yield f"{place}.split.scheme: {dataset!r} has no {needs[scheme]} to split by"
