"""Settings: mistakes are named one by one, and config/README.md tells what the schema holds."""

import re
from pathlib import Path

import pytest
import yaml
from snakemake.exceptions import WorkflowError

from workflow import settings
from workflow.plan import STAGES

ROOT = Path(__file__).parents[2]
SCHEMA = settings.read_schema()
README = (ROOT / "config" / "README.md").read_text(encoding="utf-8")
SHA = "0" * 64


def valid(**changes):
    experiment = {
        "dataset": "digits",
        "title": "digits",
        "split": {"scheme": "random", "train": 1000, "test": 300},
        "components": 5,
        "features": [10, 20],
    }
    return {"run": "try", "rcca": {"one": experiment | changes}}


def rpca(**changes):
    own = {"rows": 100, "components": 5, "features": [10, 20]} | changes
    return {"run": "try", "rpca": {"one": {"dataset": "digits", "title": "digits", "pca": own}}}


TIMES = {"exact": [50], "random": [100], "features": 20}


def sweep(**changes):
    settings = {"title": "one", "n": [5], "m": [5], "gamma": [1.0]} | changes
    return {"run": "try", "bounds": {"sweeps": {"one": settings}}}


MISTAKES = {
    "unknown key": (valid() | {"sed": 1}, "sed: unknown key; did you mean 'seed'?"),
    "unknown inner key": (valid(fetures=[1]), "rcca.one.fetures: unknown key; did you mean"),
    "missing key": ({"rcca": {}}, "the file: 'run' is a required property"),
    "unknown dataset": (valid(dataset="minst"), "rcca.one.dataset: unknown dataset 'minst'; known"),
    "one view": (valid(dataset="patches"), "rcca.one.dataset: 'patches' does not have two views"),
    "negative m": (valid(features=[-10]), "rcca.one.features.0: -10 is less than the minimum"),
    "decreasing m": (valid(features=[20, 10]), "rcca.one.features: [20, 10] must increase"),
    "too few features": (valid(features=[2]), "m = 2 is less than components = 5"),
    "no groups": (valid(split={"scheme": "groups"}), "'digits' has no groups to split by"),
    "nothing to compare": (
        {"run": "try", "rpca": {"one": {"dataset": "digits", "title": "digits"}}},
        "rpca.one: give pca, cca or both",
    ),
    "no labels": (
        {"run": "try", "rpca": {"one": rpca()["rpca"]["one"] | {"dataset": "synthetic-speech"}}},
        "rpca.one.pca: 'synthetic-speech' has no labels",
    ),
    "rpca sizes": (rpca(features=[20, 10]), "rpca.one.pca.features: [20, 10] must increase"),
    "few rpca features": (rpca(features=[3]), "m = 3 is less than components = 5"),
    "many landmarks": (rpca(features=[200]), "m = 200 landmarks are more than rows = 100"),
    "width": (rpca(gamma="mean"), "rpca.one.pca.gamma: 'mean' is not valid"),
    "few timed rows": (
        rpca(times=TIMES | {"exact": [4]}),
        "rpca.one.pca.times.exact: n = 4 must exceed components = 5",
    ),
    "timed landmarks": (
        rpca(times=TIMES | {"features": 101}),
        "rpca.one.pca.times.random: n = 100 rows are fewer than the 101 landmarks",
    ),
    "one row": (sweep(n=[1]), "bounds.sweeps.one.n.0: 1 is less than the minimum of 2"),
    "no features": (sweep(m=[0]), "bounds.sweeps.one.m.0: 0 is less than the minimum of 1"),
    "gamma": (sweep(gamma=[0]), "bounds.sweeps.one.gamma.0: 0 is less than or equal to"),
    "kernel width": (sweep(width="wide"), "bounds.sweeps.one.width: 'wide' is not valid"),
    "not a mapping": (["run"], "the file: ['run'] is not of type 'object'"),
    "skip": (valid() | {"skip": ["minst"]}, "skip: unknown dataset 'minst'"),
    "prepare": (valid() | {"prepare": ["minst"]}, "prepare: unknown dataset 'minst'"),
    "strict": (valid() | {"strict": "yes"}, "strict: 'yes' is not of type 'boolean'"),
    "number as key": (
        {"run": "try", "rcca": {1: {}, "digits": {}}},
        "rcca: the key 1 is no text; put it in quotes",
    ),
    "truth value as key": (valid() | {True: 1}, "the file: the key True is no text"),
    "threads": (valid() | {"threads": 0}, "threads: 0 is less than the minimum of 1"),
    "checksum": (valid() | {"checksums": {"a.mat": SHA}}, "checksums.a.mat: only these files"),
    "own kind": (
        valid() | {"datasets": {"mine": {"kind": "xls", "x": "a", "y": "b"}}},
        "datasets.mine.kind: 'xls' is not one of ['npz', 'npy', 'csv', 'mat', 'xrmb-mat']",
    ),
    "own view": (
        valid() | {"datasets": {"mine": {"kind": "npy", "x": "a"}}},
        "datasets.mine: 'y' is a required property",
    ),
    "own place": (
        valid() | {"datasets": {"mine": {"kind": "npz", "x": {"name": "a"}, "y": "b"}}},
        "(a file name, or {file: …, array: …} where a file holds several arrays)",
    ),
    "own name": (
        valid() | {"datasets": {"mnist": {"kind": "npy", "x": "a", "y": "b"}}},
        "datasets.mnist: there is a dataset of that name already",
    ),
}


@pytest.mark.parametrize(("config", "sentence"), MISTAKES.values(), ids=MISTAKES)
def test_mistake_is_named(config, sentence):
    with pytest.raises(WorkflowError) as caught:
        settings.check(config)
    assert sentence in str(caught.value)
    assert str(caught.value).endswith("Keys: config/README.md")


def test_several_mistakes_are_named_at_once():
    with pytest.raises(WorkflowError, match=r"(?s)features: .* must increase.*m = 4 is less than"):
        settings.check(valid(features=[4, 3]))


def test_own_dataset_may_be_used_with_what_it_has():
    entry = {"kind": "npz", "x": "a.npz", "y": "b.npz", "groups": {"file": "a.npz", "array": "g"}}
    config = valid(dataset="mine", split={"scheme": "groups", "train": 10, "test": 5})
    settings.check(config | {"datasets": {"mine": entry}})
    config["rcca"]["one"]["split"]["scheme"] = "given"
    with pytest.raises(WorkflowError, match="'mine' has no given_split to split by"):
        settings.check(config | {"datasets": {"mine": entry}})


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("run: typo\nsed: 1\nrcca: {}\n", "sed: unknown key; did you mean 'seed'?"),
        ("- not\n- a mapping\n", "Config file must be given as JSON or YAML with keys"),
    ],
)
def test_snakemake_ends_with_the_message(project, text, sentence):
    project.file("mine.yaml").write_text(text)
    code, screen = project.launch("--configfile", "mine.yaml")
    assert code == 1
    assert screen.count(sentence) == 1
    assert "Traceback" not in screen


def keys(schema, prefix=""):
    """Yield each key of a schema with what its README line must say of its default."""
    for name, part in schema["properties"].items():
        required = name in schema.get("required", [])
        yield prefix + name, "required" if required else part.get("default")
        yield from keys(part, f"{prefix}{name}.") if "properties" in part else ()
        by_name = part.get("additionalProperties")
        if isinstance(by_name, dict) and "properties" in by_name:
            yield from keys(by_name, f"{prefix}{name}.<name>.")


def documented(heading):
    """Yield the keys and defaults in the table below a heading of the README."""
    section = re.split(r"^## ", README.partition(f"\n## {heading}")[2], flags=re.MULTILINE)[0]
    for cells in re.findall(r"^\| (`.+?) \| (.+?) \|", section, flags=re.MULTILINE):
        for key in re.findall(r"`([^`]+)`", cells[0]):
            yield key, yaml.safe_load(cells[1].strip("`"))


def stage_sections():
    """Yield the heading of each stage with the schema of its own keys, or of its experiments'."""
    for name in STAGES:
        schema = SCHEMA["properties"][name]
        yield f"Stage {name}", schema if "properties" in schema else schema["additionalProperties"]


TOP_LEVEL = SCHEMA["properties"] | {name: {"default": {}} for name in STAGES}


@pytest.mark.parametrize(
    ("heading", "schema"),
    [
        ("Top level", SCHEMA | {"properties": TOP_LEVEL}),
        ("Your own data", SCHEMA["$defs"]["own_dataset"]),
        *stage_sections(),
    ],
)
def test_readme_explains_every_key_and_no_other(heading, schema):
    told, known = dict(documented(heading)), dict(keys(schema))
    assert told.keys() == known.keys()
    assert {k: v for k, v in told.items() if known[k] is not None} == {
        k: v for k, v in known.items() if v is not None
    }


@pytest.mark.parametrize("file", ["config", "paper", "test"])
def test_shipped_settings_are_valid(file):
    settings.check(yaml.safe_load((ROOT / "config" / f"{file}.yaml").read_text(encoding="utf-8")))
