"""The configuration, checked before anything is planned: one sentence per mistake."""

from collections.abc import Iterator
from copy import deepcopy
from difflib import get_close_matches
from functools import cache
from math import isfinite
from pathlib import Path
from typing import Any

import jsonschema
import yaml
from snakemake.exceptions import WorkflowError

from workflow.data.catalogue import CATALOGUE
from workflow.plan import STAGES
from workflow.plan.stage import unknown_dataset

SCHEMAS = Path(__file__).parent / "schemas"
# Each of these is a job, or an item in a list of one. A seed may be as long as one likes.
MANY = {"repeats", "partitions", "shards", "jobs"}
MOST_OF_MANY, LARGEST = 10**5, 10**9


def check(config: dict[str, Any]) -> None:
    """Check a configuration and fill in the defaults, in place.

    Raises
    ------
    WorkflowError
        Naming every wrong key or value, the rule it breaks, and where the keys are explained.
    """
    schema = read_schema()
    problems = list(_keys_not_text(config))
    if not problems:
        problems = [*_breaches(config, schema), *_beyond_reason(config)]
    if not problems:
        _fill_defaults(config, schema, schema["$defs"])
        problems = list(_inconsistencies(config))
    if problems:
        listed = "\n".join(f"  {problem}" for problem in problems)
        raise WorkflowError(f"The configuration has mistakes:\n{listed}\nKeys: config/README.md")


def read(file: Path) -> dict[str, Any]:
    """Read settings from a file, check them and fill in the defaults.

    Raises
    ------
    WorkflowError
        If the file cannot be read or is no YAML, or as `check` does.
    """
    try:
        config: dict[str, Any] = yaml.safe_load(file.read_text(encoding="utf-8"))
    except (OSError, ValueError, yaml.YAMLError) as error:
        raise WorkflowError(f"not a file of settings in YAML: {error}") from error
    check(config)
    return config


@cache
def read_schema() -> dict[str, Any]:
    """Return the schema of all settings: that of the run, and each stage's under its key."""
    schema = _read(SCHEMAS / "config.schema.yaml")
    for stage in STAGES:
        schema["properties"][stage] = _read(SCHEMAS / f"{stage}.schema.yaml")
    return schema


def _read(path: Path) -> dict[str, Any]:
    schema: dict[str, Any] = yaml.safe_load(path.read_text(encoding="utf-8"))
    return schema


def _fill_defaults(value: Any, schema: dict[str, Any], definitions: dict[str, Any]) -> None:
    """Fill in, in place, what valid settings leave to the schema."""
    if reference := schema.get("$ref"):
        schema = definitions[reference.removeprefix("#/$defs/")]
    if not isinstance(value, dict):
        return
    properties = schema.get("properties", {})
    for key, inner in properties.items():
        if "default" in inner:
            value.setdefault(key, deepcopy(inner["default"]))
    for key, part in value.items():
        _fill_defaults(
            part, properties.get(key) or schema.get("additionalProperties") or {}, definitions
        )


def _keys_not_text(value: Any, place: str = "") -> Iterator[str]:
    """Yield the keys that YAML reads as a number, a date or a truth value."""
    if not isinstance(value, dict):
        return
    for key, inner in value.items():
        if not isinstance(key, str):
            yield f"{place or 'the file'}: the key {key!r} is no text; put it in quotes"
        yield from _keys_not_text(inner, f"{place}.{key}".strip("."))


def _breaches(config: dict[str, Any], schema: dict[str, Any]) -> Iterator[str]:
    """Yield what breaks the schema."""
    errors = _validator()(schema).iter_errors(config)
    for error in sorted(errors, key=lambda error: [str(part) for part in error.path]):
        yield _sentence(error)


@cache
def _validator() -> Any:
    """Return a validator for which 2.0 is no integer, nor .inf or .nan a number."""
    base = jsonschema.Draft202012Validator
    types = base.TYPE_CHECKER.redefine_many({"integer": _is_integer, "number": _is_number})
    return jsonschema.validators.extend(base, type_checker=types)  # type: ignore[no-untyped-call]


def _is_integer(_checker: Any, value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_number(checker: Any, value: Any) -> bool:
    return _is_integer(checker, value) or (isinstance(value, float) and isfinite(value))


def _beyond_reason(value: Any, place: str = "", key: str = "") -> Iterator[str]:
    """Yield the whole numbers that no machine can count up to."""
    if isinstance(value, dict | list):
        for inner, part in value.items() if isinstance(value, dict) else enumerate(value):
            name = str(inner) if isinstance(value, dict) else key
            yield from _beyond_reason(part, f"{place}.{inner}".strip("."), name)
    elif isinstance(value, int) and place != "seed":
        most = MOST_OF_MANY if key in MANY else LARGEST
        if value > most:
            yield f"{place}: {_shortened(value)} is more than the {most} that a run can have"


def _shortened(number: int) -> str:
    return str(number) if number < 10**30 else f"about 2^{number.bit_length() - 1}"


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
                yield f"{key}: {unknown_dataset(name, arrays)}"
    yield from _needless_checksums(config["checksums"])
    for name, stage in STAGES.items():
        for sentence in stage.inconsistencies(config[name], arrays):
            yield f"{name}.{sentence}"


def _own_arrays(entry: dict[str, Any]) -> set[str]:
    if entry["kind"] == "xrmb-mat":
        return {"x", "y", "groups", "given_split"}
    given = {"groups": "groups", "split": "given_split"}
    return {"x", "y"} | {array for key, array in given.items() if key in entry}


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
