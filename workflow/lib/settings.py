"""The settings of a run: checked before anything is planned, one sentence per mistake."""

from collections.abc import Iterator, Mapping
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any, Literal, get_args, get_origin

import yaml
from pydantic import BaseModel, Field, StringConstraints, ValidationError, create_model
from snakemake.exceptions import WorkflowError

from workflow.data.catalogue import CATALOGUE, Facts
from workflow.lib.exhibits import stage_names
from workflow.lib.models import Name, Repeats, Settings, Stage, Title, unknown_dataset

# Files are named after it, and `results/published` is what `make publish` writes.
RunName = Annotated[
    str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*\z", max_length=100)
]
FileName = Annotated[str, StringConstraints(min_length=1)]
Sha256 = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}\z")]


class Place(Settings):
    """Where an array of one's own is."""

    file: FileName = Field(description="the file's name")
    array: FileName | None = Field(None, description="the array's name, if the file holds several")


class OwnDataset(Settings):
    """A dataset of one's own."""

    kind: Literal["npz", "npy", "csv", "mat"] = Field(description="what the files are")
    title: Title | None = Field(None, description="what it is called")
    x: FileName | Place = Field(description="the first view: a file name, or {file: …, array: …}")
    y: FileName | Place = Field(description="the second view")
    split: FileName | Place | None = Field(
        None, description="train, tune or test (or 0, 1, 2) for each row"
    )
    groups: FileName | Place | None = Field(
        None, description="a label for each row; rows with the same label stay together"
    )

    def files(self) -> list[str]:
        """List the files it is read from."""
        places = [self.x, self.y, self.split, self.groups]
        named = [place.file if isinstance(place, Place) else place for place in places if place]
        return list(dict.fromkeys(named))

    def facts(self) -> Facts:
        """Return what is known of it before it is read."""
        optional = {"groups": self.groups, "given_split": self.split}
        return Facts(("x", "y", *(array for array, place in optional.items() if place)))


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
    checksums: dict[str, Sha256] = Field(
        {}, description="sha256 by file name, for files whose source publishes none"
    )

    def stages(self) -> dict[str, Stage]:
        """Return the settings of each stage, in the order of the report."""
        return {name: getattr(self, name) for name in stage_names()}

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
        if self.run == "published":
            yield "run: 'published' is the name of what `make publish` writes; choose another name"
        for name, own in self.datasets.items():
            if name in CATALOGUE:
                yield f"datasets.{name}: the workflow has a dataset of this name; choose another"
            for file in own.files():
                if not Path(file).is_file():
                    yield f"datasets.{name}: there is no file {file!r} under {Path.cwd()}"
        for key in ("skip", "prepare"):
            for name in getattr(self, key):
                if name not in known:
                    yield f"{key}: {unknown_dataset(name, known)}"
        for name in self.checksums:
            if name not in (lacking := _without_checksum()):
                files = ", ".join(lacking) or "none at present"
                yield f"checksums.{name}: only files without a published checksum: {files}"
        for name, stage in self.stages().items():
            yield from (f"{name}.{problem}" for problem in stage.problems(known))


@cache
def run_model() -> type[RunSettings]:
    """Return `RunSettings` with the key of each stage."""
    fields: dict[str, Any] = {}
    for name in stage_names():
        kind = import_module(f"workflow.stages.{name}.settings").SETTINGS
        summary = (kind.__doc__ or "").splitlines()[0]
        fields[name] = (kind, Field(default_factory=kind, description=summary))
    model: type[RunSettings] = create_model("Run", __base__=RunSettings, **fields)
    return model


def check(config: Mapping[Any, Any]) -> RunSettings:
    """Check a configuration and fill in the defaults.

    Raises
    ------
    WorkflowError
        Naming every wrong key or value and the rule it breaks.
    """
    try:
        settings = run_model().model_validate(dict(config))
        problems = list(settings.problems())
    except ValidationError as error:
        problems = list(dict.fromkeys(_sentences(error, config)))
    if problems:
        listed = "\n".join(f"  {problem}" for problem in problems)
        raise WorkflowError(f"The settings have mistakes:\n{listed}\nKeys: config/README.md")
    return settings


def read(file: Path) -> RunSettings:
    """Read settings from a file and check them.

    Raises
    ------
    WorkflowError
        If the file cannot be read or is not YAML, or as `check` does.
    """
    try:
        config = yaml.safe_load(file.read_text(encoding="utf-8"))
    except (OSError, ValueError, yaml.YAMLError) as error:
        raise WorkflowError(f"not a file of settings in YAML: {error}") from error
    if not isinstance(config, dict):
        raise WorkflowError("not a file of settings: it must consist of keys and values")
    return check(config)


def keys(model: type[BaseModel], place: str = "") -> Iterator[tuple[str, str, str]]:
    """Yield path, default and description of every key, for config/README.md."""
    for name, field in model.model_fields.items():
        path = f"{place}.{name}".strip(".")
        if name == "root":
            for inner in _models(field.annotation):
                yield from keys(inner, f"{place}.<name>".strip("."))
            continue
        default = "required" if field.is_required() else _spelled(field.get_default())
        yield path, default, field.description or ""
        is_by_name = get_origin(field.annotation) is dict
        for inner in _models(field.annotation):
            if not issubclass(inner, Stage):
                yield from keys(inner, f"{path}.<name>" if is_by_name else path)


def _spelled(default: Any) -> str:
    if isinstance(default, BaseModel):
        default = default.model_dump(mode="json")
    words = {None: "none", True: "true", False: "false"}
    if isinstance(default, bool | None):
        return words[default]
    return str(default)


def _models(annotation: Any) -> Iterator[type[BaseModel]]:
    """Yield the models inside a type, such as dict[Name, Experiment]."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for part in get_args(annotation):
        yield from _models(part)


def _without_checksum() -> list[str]:
    sources = [entry.source for entry in CATALOGUE.values() if entry.source is not None]
    return [
        name for source in sources for name, file in source.files.items() if file.checksum is None
    ]


def _sentences(error: ValidationError, config: Mapping[Any, Any]) -> Iterator[str]:
    """Yield a sentence for each mistake: path of the key, value, rule."""
    for found in error.errors():
        path, value = _locate(found["loc"], config)
        if found["loc"][-1] == "[key]":
            value = found["loc"][-2]
        message = found["msg"].removeprefix("Value error, ").replace("Input should", "should")
        match found["type"]:
            case "extra_forbidden":
                yield f"{path}: unknown key; {_suggestion(path)}"
            case "missing":
                yield f"{path}: required, but not given"
            case "invalid_key":
                yield f"{path}: the key {found['loc'][-1]!r} is not text; put it in quotes"
            case _:
                rule = _description(path)
                yield f"{path}: {_shortened(value)} {message}" + (f" ({rule})" if rule else "")


def _locate(loc: tuple[Any, ...], config: Any) -> tuple[str, Any]:
    """Return the path of a key, without the names of types that pydantic adds, and its value."""
    path = []
    for part in loc:
        if (isinstance(config, Mapping) and part in config) or (
            isinstance(config, list) and isinstance(part, int)
        ):
            config = config[part]
        elif not (isinstance(config, Mapping) and part is loc[-1] and part != "[key]"):
            continue
        path.append(str(part))
    return ".".join(path) or "the file", config


def _shortened(value: Any) -> str:
    if isinstance(value, int) and value >= 10**30:
        return f"a number of {value.bit_length()} bits"
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:77]}..."


@cache
def _known_keys() -> dict[str, str]:
    """Return the description of every key, by its path, with <name> where names are free."""
    model = run_model()
    found = {path: description for path, _, description in keys(model)}
    for name in stage_names():
        kind = model.model_fields[name].annotation
        assert isinstance(kind, type)
        found |= {path: description for path, _, description in keys(kind, name)}
    return found


def _matches(path: str, pattern: str) -> bool:
    parts, wanted = path.split("."), pattern.split(".")
    return len(parts) == len(wanted) and all(
        want in ("<name>", part) for part, want in zip(parts, wanted, strict=True)
    )


def _description(path: str) -> str:
    words = [part for part in path.split(".") if not part.isdecimal()]
    found = (text for key, text in _known_keys().items() if _matches(".".join(words), key))
    return next(found, "")


def _suggestion(path: str) -> str:
    """Name the key that was probably meant: a sibling first, else one of another level."""
    *above, key = path.split(".")
    siblings, others = [], []
    for known in _known_keys():
        *place, name = known.split(".")
        is_sibling = len(place) == len(above) and _matches(".".join(above), ".".join(place))
        (siblings if is_sibling or not (above or place) else others).append((name, known))
    for candidates in (siblings, others):
        distance, name, known = min(
            ((_distance(key, name), name, known) for name, known in candidates if name != "<name>"),
            default=(len(key), "", ""),
        )
        if distance <= max(1, len(key) // 3):
            return f"did you mean {(name if candidates is siblings else known)!r}?"
    return f"known here are {', '.join(dict.fromkeys(name for name, _ in siblings))}"


def _distance(one: str, other: str) -> int:
    """Count the insertions, deletions and replacements between two words."""
    row = list(range(len(other) + 1))
    for i, letter in enumerate(one, start=1):
        row, before = [i], row
        for j, wanted in enumerate(other, start=1):
            row.append(min(row[-1] + 1, before[j] + 1, before[j - 1] + (letter != wanted)))
    return row[-1]
