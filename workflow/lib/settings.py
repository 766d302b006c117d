"""The settings of a run: checked before anything is planned, one sentence per mistake."""

import os
import re
from collections.abc import Iterator, Mapping
from difflib import get_close_matches
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
# Ratio of `difflib` above which one key may be a misspelling of another.
_ALIKE = 0.65


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
    try:
        settings = run_model().model_validate(dict(config))
        problems = list(settings.problems())
    except ValidationError as error:
        problems = list(_sentences(error, config))
    if problems:
        listed = "\n".join(f"  {problem}" for problem in problems)
        raise WorkflowError(f"The settings have mistakes:\n{listed}\nKeys: config/README.md")
    return settings


def read(file: Path) -> RunSettings:
    """Read settings from a file and check them."""
    return check(load(file))


def stage_model(name: str) -> type[BaseModel]:
    """Return the model of a stage's settings."""
    model: type[BaseModel] = import_module(f"workflow.stages.{name}.settings").SETTINGS
    return model


def schema() -> dict[str, Any]:
    """Return the JSON schema of a file of settings, for editors and catalogues."""
    found = run_model().model_json_schema()
    for model in found["$defs"].values():
        if "variant_of" in model.get("properties", {}):  # it takes over what it does not give
            model["anyOf"] = [
                {"required": each} for each in (model.pop("required"), ["variant_of"])
            ]
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **found}


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


def _sentences(error: ValidationError, config: Mapping[str, Any]) -> Iterator[str]:
    """Yield a sentence for each wrong key: its path, what is wrong, and what the key means."""
    mistakes: dict[KeyPath, list[Any]] = {}
    for mistake in error.errors():
        mistakes.setdefault(_path(mistake["loc"], config), []).append(mistake)
    for path, found in mistakes.items():
        kinds = {mistake["type"] for mistake in found}
        # Of a union pydantic names the rule of each member.
        rule = " or: ".join(dict.fromkeys(mistake["msg"] for mistake in found))
        if "extra_forbidden" in kinds:
            rule = f"unknown key; {_suggestion(path)}"
        elif "missing" not in kinds:
            rule += f"; got {_shortened(found[0]['input'])}"
        meaning = _meaning(path)
        yield f"{_joined(path)}: {rule}" + (f" ({meaning})" if meaning else "")


def _path(loc: KeyPath, config: Any) -> KeyPath:
    """Return the path of a key, without the names of types that pydantic adds."""
    path: KeyPath = ()
    for part in loc:
        inside: dict[Any, Any] = {}
        if isinstance(config, Mapping):
            inside = {str(key): value for key, value in config.items()}
        elif isinstance(config, list):
            inside = dict(enumerate(config))
        if part in inside or _meaning((*path, part)) is not None:
            path, config = (*path, part), inside.get(part)
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
def _meanings() -> dict[KeyPath, str]:
    """Return the description of every key, by its path."""
    found = dict(keys(run_model()))
    for name in stage_names():
        found |= dict(keys(stage_model(name), name))
    return {path: (field.description or "").removesuffix(".") for path, field in found.items()}


def _meaning(path: KeyPath) -> str | None:
    """Return the description of a key; None if there is no such key."""
    return next((text for known, text in _meanings().items() if _matches(path, known)), None)


def _matches(path: KeyPath, known: KeyPath) -> bool:
    words = [part for part in path if isinstance(part, str)]
    return len(words) == len(known) and all(
        name in ("<name>", word) for word, name in zip(words, known, strict=True)
    )


def _suggestion(path: KeyPath) -> str:
    """Name the key that was probably meant: one of the same place, else of the same stage."""
    siblings = {
        str(known[-1]): known[-1] for known in _meanings() if _matches(path[:-1], known[:-1])
    }
    nearest_last = sorted(_meanings(), key=lambda known: (known[0] == path[0], -len(known)))
    for names in (siblings, {str(known[-1]): _joined(known) for known in nearest_last}):
        if near := get_close_matches(str(path[-1]), names, 2, _ALIKE):
            return f"did you mean {' or '.join(repr(names[name]) for name in near)}?"
    return f"known here are {', '.join(siblings)}"
