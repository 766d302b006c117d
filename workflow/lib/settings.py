"""The settings of a run: checked before anything is planned, one sentence per mistake."""

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from difflib import SequenceMatcher
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any, get_args, get_origin

from pydantic import BaseModel, Field, ValidationError, create_model
from pydantic.fields import FieldInfo
from snakemake.exceptions import WorkflowError

from workflow.data.catalogue import CATALOGUE, Facts
from workflow.data.own import OwnDataset
from workflow.lib.exhibits import stage_names
from workflow.lib.jobs import Job
from workflow.lib.models import Name, Repeats, Settings, Stage, must, unknown_dataset
from workflow.lib.strict_yaml import load

# Files are named after it, and `results/published` is what `make publish` writes.
RunName = Annotated[
    str,
    must(
        "must be a name: letters, digits, dots, underscores and hyphens, beginning with a letter "
        "or digit, at most 100 in all",
        re.compile("[A-Za-z0-9][A-Za-z0-9._-]{,99}").fullmatch,
    ),
]
# From the top of the file; numbers are positions in a list.
KeyPath = tuple[int | str, ...]


class RunSettings(Settings):
    """The settings of a run; the key of each stage is added from its folder."""

    run: RunName = Field(description="name of the run; results go to `results/<run>`")
    seed: int = Field(2014, ge=0, description="every random draw of the run follows from it")
    threads: Repeats = Field(2, description="cores that one fit takes")
    skip: list[str] = Field(
        [], description='datasets to leave out; experiments on them are marked "not run"'
    )
    strict: bool = Field(
        False, description="whether a dataset that cannot be downloaded is an error"
    )
    prepare: list[str] = Field([], description="datasets to prepare though no experiment uses them")
    datasets: dict[Name, OwnDataset] = Field({}, description="datasets of your own, by name")

    def stages(self) -> dict[str, Stage]:
        """Return the settings of each stage, in the order of the report."""
        return {name: getattr(self, name) for name in stage_names()}

    def jobs(self) -> list[Job]:
        """List the jobs of all stages."""
        return [job for stage in self.stages().values() for job in stage.jobs(self.seed)]

    def known(self) -> dict[str, Facts]:
        """Return what is known of each dataset, the user's own included."""
        fetched = {name: entry.facts for name, entry in CATALOGUE.items()}
        return fetched | {name: entry.facts() for name, entry in self.datasets.items()}

    def used(self) -> list[str]:
        """List the datasets that the run prepares, without those it leaves out."""
        asked = [data for stage in self.stages().values() for data in stage.datasets().values()]
        return [name for name in dict.fromkeys([*asked, *self.prepare]) if name not in self.skip]

    def problems(self) -> Iterator[str]:
        """Yield a sentence, beginning with the key, for each mistake that a type cannot show."""
        known = self.known()
        if self.run.lower() == "published":  # which is the same directory on some systems
            yield f"run: {self.run!r} is the name of what `make publish` writes; choose another"
        for name, own in self.datasets.items():
            if name in CATALOGUE:
                yield f"datasets.{name}: the workflow has a dataset of this name; choose another"
            for file in own.files():
                if not os.path.isfile(file):
                    yield f"datasets.{name}: there is no file {_shortened(file)} under {Path.cwd()}"
        for key in ("skip", "prepare"):
            for name in getattr(self, key):
                if name not in known:
                    yield f"{key}: {unknown_dataset(name, known)}"
        for name, stage in self.stages().items():
            yield from (f"{name}.{problem}" for problem in stage.problems(known))


@cache
def run_model() -> type[RunSettings]:
    """Return `RunSettings` with the key of each stage."""
    fields: dict[str, Any] = {}
    for name in stage_names():
        kind = stage_model(name)
        summary = (kind.__doc__ or "").partition("\n")[0]  # none with python -OO
        fields[name] = (kind, Field(default_factory=kind, description=summary))
    model: type[RunSettings] = create_model("Run", __base__=RunSettings, **fields)
    return model


def check(config: Mapping[Any, Any]) -> RunSettings:
    """Check a configuration and fill in the defaults; name all wrong keys and values if not."""
    if problems := list(_keys_that_are_not_text(config)):
        raise _mistakes(problems)
    try:
        settings = run_model().model_validate(dict(config))
    except ValidationError as error:
        raise _mistakes(_sentences(error, config)) from None
    if problems := list(settings.problems()):
        raise _mistakes(problems)
    return settings


def _mistakes(problems: Iterable[str]) -> WorkflowError:
    listed = "\n".join(f"  {problem}" for problem in problems)
    return WorkflowError(f"The settings have mistakes:\n{listed}\nKeys: config/README.md")


def read(file: Path) -> RunSettings:
    """Read settings from a file and check them."""
    return check(load(file))


def stage_model(name: str) -> type[BaseModel]:
    """Return the model of a stage's settings."""
    model: type[BaseModel] = import_module(f"workflow.stages.{name}.settings").SETTINGS
    return model


def keys(model: type[BaseModel], *place: str) -> Iterator[tuple[KeyPath, FieldInfo]]:
    """Yield path and field of every key; <name> stands where names are free."""
    for name, field in model.model_fields.items():
        if name == "root":
            for inner in _models(field.annotation):
                yield from keys(inner, *place, "<name>")
            continue
        yield (*place, name), field
        is_by_name = get_origin(field.annotation) is dict
        for inner in _models(field.annotation):
            if not issubclass(inner, Stage):
                yield from keys(inner, *place, name, *(["<name>"] if is_by_name else []))


def _models(annotation: Any) -> Iterator[type[BaseModel]]:
    """Yield the models inside a type, such as dict[Name, Experiment]."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for part in get_args(annotation):
        yield from _models(part)


# Rules in words, by pydantic's type of error.
_RULES = {
    "string_type": "must be text",
    "int_type": "must be an integer",
    "float_type": "must be a finite number",
    "finite_number": "must be a finite number",
    "bool_type": "must be true or false",
    "list_type": "must be a list",
    "dict_type": "must consist of keys and values",
    "model_type": "must consist of keys and values",
}
# Ratio of `difflib` above which one key may be a misspelling of another.
_ALIKE = 0.65


def _keys_that_are_not_text(config: Any, *place: str) -> Iterator[str]:
    if isinstance(config, Mapping):
        for key, value in config.items():
            if isinstance(key, str):
                yield from _keys_that_are_not_text(value, *place, key)
            else:
                yield f"{_joined(place)}: the key {_shortened(key)} is not text; put it in quotes"


def _sentences(error: ValidationError, config: Mapping[str, Any]) -> Iterator[str]:
    """Yield a sentence for each mistake: path of the key, value, rule."""
    rules: dict[tuple[KeyPath, str], list[str]] = {}
    for found in error.errors():
        path = _path(found["loc"], config, found["type"] == "missing")
        if path is None:
            continue
        value, rule = "", "required, but not given"
        if found["type"] == "extra_forbidden":
            rule = f"unknown key; {_suggestion(path)}"
        elif found["type"] != "missing":
            value, rule = f"{_shortened(found['input'])} ", _rule(found["type"], found["msg"])
        rules.setdefault((path, value), []).append(rule)
    for (path, value), each in rules.items():
        meaning = (_described(path) or "").removesuffix(".") if value else ""
        rule = " or ".join(dict.fromkeys(each))
        yield f"{_joined(path)}: {value}{rule}" + (f" ({meaning})" if meaning else "")


def _rule(kind: str, message: str) -> str:
    if kind in _RULES:
        return _RULES[kind]
    message = message.removeprefix("Value error, ").replace(" after validation", "")
    return re.sub("^(Input|List|String) should", "must", message)


def _path(loc: tuple[int | str, ...], config: Any, is_missing: bool) -> KeyPath | None:
    """Return the path of a key, without the names of types that pydantic adds.

    None if the file does not have it: an experiment took it over from another, where the mistake
    is named too.
    """
    path: KeyPath = ()
    for number, part in enumerate(loc, start=1):
        is_there = part in config if isinstance(config, Mapping) else isinstance(config, list)
        if is_there and (isinstance(config, Mapping) or isinstance(part, int)):
            config = config[part]
        elif not (is_missing and number == len(loc)):
            if _described((*path, part)) is not None:
                return None
            continue
        path = (*path, part)
    return path


def _joined(path: KeyPath) -> str:
    return ".".join(repr(str(part))[1:-1] for part in path) or "the file"


def _shortened(value: Any) -> str:
    try:
        text = repr(value)
    except ValueError:  # more digits than Python writes out
        text = "a number of thousands of digits"
    return text if len(text) <= 80 else f"{text[:77]}..."


@cache
def _known_keys() -> dict[KeyPath, str]:
    """Return the description of every key, by its path."""
    found = dict(keys(run_model()))
    for name in stage_names():
        found |= dict(keys(stage_model(name), name))
    return {path: field.description or "" for path, field in found.items()}


def _matches(path: KeyPath, pattern: KeyPath) -> bool:
    return len(path) == len(pattern) and all(
        want in ("<name>", part) for part, want in zip(path, pattern, strict=True)
    )


def _described(path: KeyPath) -> str | None:
    """Return the description of a key; None if there is no such key."""
    words = tuple(part for part in path if isinstance(part, str))
    return next((text for key, text in _known_keys().items() if _matches(words, key)), None)


def _suggestion(path: KeyPath) -> str:
    """Name the key that was probably meant: a sibling first, else one of another level."""
    *above, key = (part for part in path if isinstance(part, str))
    known = [each for each in _known_keys() if each[-1] != "<name>"]
    siblings = [each for each in known if _matches(tuple(above), each[:-1])]
    likeness = {each: SequenceMatcher(None, key, str(each[-1])).ratio() for each in known}
    near = max(siblings, key=likeness.__getitem__)
    if likeness[near] > _ALIKE:
        return f"did you mean {near[-1]!r}?"
    near = min(known, key=lambda each: (-likeness[each], each[0] != path[0], each))
    if likeness[near] > _ALIKE:
        where = "" if len(near) > 1 else " at the top level"
        return f"did you mean {_joined(near)!r}{where}?"
    return f"known here are {', '.join(str(each[-1]) for each in siblings)}"
