"""The configuration, checked before anything is planned: one sentence per mistake."""

from collections.abc import Iterator
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
    schema = yaml.safe_load(SCHEMA.read_text(encoding="utf-8"))
    errors = jsonschema.Draft202012Validator(schema).iter_errors(config)
    problems = [_sentence(error) for error in sorted(errors, key=lambda error: error.path)]
    if not problems:
        validate(config, str(SCHEMA))
        problems = list(_inconsistencies(config))
    if problems:
        listed = "\n".join(f"  {problem}" for problem in problems)
        raise WorkflowError(f"The configuration has mistakes:\n{listed}\nKeys: config/README.md")


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
    for name, experiment in config["rcca"].items():
        place, dataset = f"rcca.{name}", experiment["dataset"]
        if dataset not in CATALOGUE:
            yield f"{place}.dataset: unknown dataset {dataset!r}; known are {', '.join(CATALOGUE)}"
            continue
        missing = {"x", "y"} - set(CATALOGUE[dataset].arrays)
        if missing:
            yield f"{place}.dataset: {dataset!r} does not have two views"
        sizes = experiment["features"]
        if sizes != sorted(set(sizes)):
            yield f"{place}.features: {sizes} must increase"
        if sizes[0] < experiment["components"]:
            yield (
                f"{place}.features: m = {sizes[0]} is less than components = "
                f"{experiment['components']}"
            )
        scheme, needs = experiment["split"]["scheme"], {"groups": "groups"}
        needs |= {"given": "given_split", "official": "given_split"}
        if scheme in needs and needs[scheme] not in CATALOGUE[dataset].arrays:
            yield f"{place}.split.scheme: {dataset!r} has no {needs[scheme]} to split by"
