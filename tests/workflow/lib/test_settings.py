"""Settings: every mistake is a sentence, and whatever is accepted can be planned."""

import json
import os
import re
import runpy
from copy import deepcopy
from datetime import date
from itertools import pairwise

import hypothesis
import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st
from snakemake.exceptions import WorkflowError

from projects import ROOT, TEST_SETTINGS, changed
from workflow.cli import with_tables
from workflow.lib.exhibits import read_exhibits, stage_names
from workflow.lib.settings import check, read, schema
from workflow.lib.strict_yaml import load

CONFIG = ROOT / "config"
STAGES = ROOT / "tests" / "workflow" / "stages"
# Where mistakes are made.
BASE = TEST_SETTINGS
# What tells of the program, not of the settings.
INTERNAL = re.compile(r"\.py\b|line \d|pydantic|validation error|Traceback|\\z|workflow/")
MINE = {"kind": "npy", "x": "a.npy", "y": "b.npy"}
TWICE = {"file": "x.csv", "columns": ["a", "a"]}
SPEECH = BASE["rcca"]["speech"]
# Key, its value (... for none; a tuple where a key is no text), words of the sentence.
OF_THE_RUN = [
    ("run", ..., "run: Field required"),
    ("run", "run\n", r"at most 100 in all; got 'run\n' (name of the run"),
    ("run", "a/../b", "run: must be a name: letters, digits, dots, und"),
    ("run", "r" * 101, "at most 100 in all"),
    ("run", "published", "run: 'published' is the name of what `make publish` writes; choose"),
    ("run", "Published", "run: 'Published' is the name of what `make publish` writes; choose"),
    ("run", None, "run: Input should be a valid string; got None"),
    ("rcaa", {}, "rcaa: unknown key; did you mean 'rpca' or 'rcca'?"),
    ("sed", 1, "sed: unknown key; did you mean 'seed'?"),
    ("zebra", 1, "zebra: unknown key; known here are run, seed, threads"),
    ("shards", 3, "shards: unknown key; did you mean 'rcca.<name>.shards'"),
    ("rcca.digits.seed", 3, "rcca.digits.seed: unknown key; did you mean 'seed'?"),
    ("rpca.digits.shards", 2, "rpca.digits.shards: unknown key; did you mean 'rcca.<name>.shards'"),
    ("rpca.digits.components", 2, "unknown key; did you mean 'rpca.<name>.cca.components'?"),
    ((1,), 2, "the file: Keys should be strings; got 1"),
    ((True,), 2, "the file: Keys should be strings; got True"),
    (("rcca", None), {}, "rcca.None: Input should be a valid string; got None"),
    (("rcca", "digits", "split", 1), 2, "rcca.digits.split.1: Keys should be strings; got 1"),
    ("threads", 2.0, "threads: Input should be a valid integer; got 2.0"),
    ("threads", True, "threads: Input should be a valid integer; got True"),
    ("threads", 0, "threads: Input should be greater than or equal to 1; got 0"),
    ("seed", -1, "seed: Input should be greater than or equal to 0; got -1"),
    ("strict", "yes", "strict: Input should be a valid boolean; got 'yes'"),
    ("rcca.digits.reg", float("inf"), "rcca.digits.reg: Input should be a finite number; got inf"),
    ("rcca.digits.reg", float("nan"), "rcca.digits.reg: Input should be a finite number; got nan"),
    ("rcca.digits.reg", 10**400, "rcca.digits.reg: Input should be a valid number; got 1000"),
    (
        "rcca.digits.repeats",
        10**20,
        f"repeats: Input should be less than or equal to 100000; got {10**20}",
    ),
    ("rcca.digits.repeats", -(10**400), "000..."),
    ("rcca.digits.repeats", 1 << 99_999, "got a number of thousands of digits"),
    ("rcca.nan", SPEECH, "rcca.nan: cannot be a name: tables would read it as a value"),
    ("rcca.007", SPEECH, "rcca.007: must be a name: lower-case letters, digits and hyphens"),
    ("rcca.true", SPEECH, "rcca.true: cannot be a name: tables would read it as a value"),
    ("rcca.infinity", SPEECH, "rcca.infinity: cannot be a name: tables would read it as a value"),
    ("rcca.digits.title", "![](http://a/b.png)", "rcca.digits.title: must be plain text"),
    ("rcca.digits.title", "<b>", "rcca.digits.title: must be plain text"),
    ("rcca.digits.title", "a | b", "rcca.digits.title: must be plain text"),
    ("rcca.digits.title", "_a", "rcca.digits.title: must be plain text"),
    ("rcca.digits.title", "$x$", "rcca.digits.title: must be plain text"),
    ("rcca.digits.title", "a\n# b", "must not have line breaks or other control characters"),
    ("rcca.digits.title", "a\x1b[2J", r"for more than text; got 'a\x1b[2J'"),
    ("rcca.digits.title", "a\u202eb", "must not have line breaks or other control characters"),
    ("rcca.run\n", SPEECH, r"rcca.run\n: must be a name: lower-case"),
    ("rcca", [], "rcca: Input should be a valid dictionary; got []"),
    ("skip", "mnist", "skip: Input should be a valid list; got 'mnist'"),
    ("skip", ["minst"], "skip: unknown dataset 'minst'; known are digits, "),
    ("prepare", ["minst"], "prepare: unknown dataset 'minst'; known are digits, "),
    ("datasets.mine", MINE, "datasets.mine: there is no file 'a.npy' under "),
    ("datasets.mine", MINE | {"x": "x" * 5000}, "datasets.mine: there is no file 'xxx"),
    ("datasets.mine", MINE | {"x": "a\0b"}, "must not have line breaks or other control char"),
    ("datasets.mine", MINE | {"x": TWICE}, "mine.x.columns: must not repeat a value or: "),
    ("datasets.mine", MINE | {"kind": "xls"}, "kind: Input should be 'npz', 'npy', "),
    ("datasets.mine", MINE | {"y": 3}, "datasets.mine.y: Input should be a valid dict"),
    ("datasets.mine", MINE | {"y": {"name": "a"}}, "datasets.mine.y.file: Field required"),
    ("datasets.mnist", MINE, "datasets.mnist: the workflow has a dataset of this name; choose"),
]
OF_STAGES = [
    (f"{prefix}.{place}".rstrip("."), value, words)
    for prefix, rows in runpy.run_path(STAGES / "mistakes.py")["MISTAKES"].items()
    for place, value, words in rows
]


def mistakes(config):
    """Return the sentences that settings are refused with."""
    with pytest.raises(WorkflowError) as caught:
        check(config)
    return sentences(caught.value)


def sentences(error):
    """Return the sentences of an error, once sure that they are for readers."""
    first, *found, last = str(error).splitlines()
    assert first == "The settings have mistakes:"
    assert last == "Keys: config/README.md"
    assert found
    for sentence in found:
        assert sentence.startswith("  ")
        assert ": " in sentence
    assert not INTERNAL.search(str(error))
    return found


@pytest.mark.parametrize(
    ("place", "value", "words"),
    OF_THE_RUN + OF_STAGES,
    ids=[words for _, _, words in OF_THE_RUN + OF_STAGES],
)
def test_mistake_is_named(place, value, words):
    found = [each.strip() for each in mistakes(changed(BASE, place, value)) if words in each]
    assert found
    if isinstance(place, str):
        assert found[0].startswith(place.partition(".")[0])


def test_each_mistake_is_one_sentence_and_all_are_told():
    assert check(changed(BASE, "seed", 10**400)).seed == 10**400  # which is none
    config = changed(BASE, "rcca.digits.reg", -1.0) | {"sed": 1}
    keys = [each.split()[0] for each in mistakes(config)]
    # digits-wide takes reg over from digits.
    assert keys == ["rcca.digits.reg:", "rcca.digits-wide.reg:", "sed:"]


def test_own_dataset_may_be_used_with_what_it_has(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("a.npz", "b.npz"):
        (tmp_path / name).touch()
    entry = {"kind": "npz", "x": "a.npz", "y": "b.npz", "groups": {"file": "a.npz", "array": "g"}}
    config = changed(BASE, "datasets.mine", entry)
    config["rcca"]["digits"] |= {"dataset": "mine", "split": {"scheme": "given"}}
    (sentence, _) = mistakes(config)
    assert "rcca.digits.split.scheme: 'mine' has no given_split to split by" in sentence
    config["datasets"]["mine"] = entry | {"split": "b.npz"}
    assert check(config).datasets["mine"].files() == ["a.npz", "b.npz"]


BOMB = "a: &a [x, x]\n" + "".join(
    f"{b}: &{b} [*{a}, *{a}, *{a}]\n" for a, b in pairwise("abcdefghijklmnop")
)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("run: a\nrun: b\n", "line 2: the key 'run' is given twice"),
        ("run: a\nrcca: {one: {m: 1, m: 2}}\n", "line 2: the key 'm' is given twice"),
        ("run: a\n<<: {seed: 1}\n<<: {seed: 2}\n", "line 3: the key '<<' is given twice"),
        ("run: a\nseed: 0042\n", "line 2: 0042: write numbers in decimal digits"),
        ("run: a\nseed: 1:30\n", "line 2: 1:30: write numbers in decimal digits"),
        (BOMB, "more than 100000 values, those of aliases"),
        ("run: &a [*a]\n", "more than 100000 values, those of aliases"),
        ("run: " + "[" * 10_000, "nested too deeply"),
        ('__use_yte__: true\n?open("ran", "w"): 1\n', "__use_yte__: settings are values"),
    ],
    ids=[
        *("twice", "below", "merged", "octal", "base 60"),
        *("bomb", "itself", "deep", "template"),
    ],
)
def test_file_that_says_more_or_less_than_it_seems_is_refused(tmp_path, text, words):
    (tmp_path / "mine.yaml").write_text(text)
    with pytest.raises(WorkflowError, match=re.escape(words)):
        read(tmp_path / "mine.yaml")


def test_file_that_is_no_text_is_refused(tmp_path):
    (tmp_path / "mine.yaml").write_bytes(b"\xff\xfe\xfa")
    with pytest.raises(WorkflowError, match="not a file of settings in YAML"):
        read(tmp_path / "mine.yaml")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("run: typo\nsed: 1\n", "sed: unknown key; did you mean 'seed'?"),
        ("run: typo\nrun: other\n", "line 2: the key 'run' is given twice"),
    ],
)
def test_snakemake_ends_with_the_sentence(project, text, words):
    project.file("mine.yaml").write_text(text)
    code, screen = project.run("-m", "snakemake", "-n", "--configfile", "mine.yaml")
    assert code == 1
    assert screen.count(words) == 1
    assert "Traceback" not in screen


def foresee(settings):
    """Ask for all that rules and commands ask of settings."""
    assert settings.known().keys() >= set(settings.used())
    for name, stage in settings.stages().items():
        assert stage.largest_mem_mb() >= 0
        for exhibit in read_exhibits(name).of(stage):
            assert exhibit.caption


@pytest.mark.parametrize("name", ["test", "config", "paper"])
def test_shipped_settings_are_valid(name):
    settings = read(CONFIG / f"{name}.yaml")
    foresee(settings)
    assert list(settings.stages()) == stage_names()


# What YAML makes of what people type: .inf, 1e400 (a text), 2020-01-01, yes, ~, …
VALUES = [None, True, False, "", "text", "1", "a/../b\n", date(2020, 1, 1), [], [[1]], {}, {"a": 1}]
VALUES += [{"digits": 1}, "digits", ["digits"], {1: 2}, -1, 0, 1, 2.0, 0.5, 1e-320, 1e308]
VALUES += [float("inf"), float("nan"), 10**20, 10**400]
FACTORS = [-1, 10, 10**6, 10**18, 0.5, 1e-6, 1.0]


def places(value, place=()):
    """List the way to every setting, at any depth."""
    items = value.items() if isinstance(value, dict) else enumerate(value)
    found = []
    for key, part in items:
        found.append((*place, key))
        if isinstance(part, dict | list):
            found += places(part, (*place, key))
    return found


def at(config, place):
    for key in place:
        config = config[key]
    return config


@st.composite
def mutants(draw):
    """config/test.yaml with one to three mistakes."""
    config = deepcopy(BASE)
    kinds = ["delete", "retype", "rescale", "mistype", "repeat", "misplace"]
    for kind in draw(st.lists(st.sampled_from(kinds), min_size=1, max_size=3)):
        if not (there := places(config)):
            break
        *above, key = draw(st.sampled_from(there))
        parent = at(config, above)
        if kind == "delete":
            del parent[key]
        elif kind == "rescale" and isinstance(parent[key], int | float):
            parent[key] *= draw(st.sampled_from(FACTORS))
        elif kind == "mistype" and isinstance(key, str):
            position = draw(st.integers(0, len(key) - 1))
            parent[key[:position] + "x" + key[position + 1 :]] = parent.pop(key)
        elif kind == "repeat" and isinstance(parent, list):
            parent.append(deepcopy(parent[key]))
        elif kind == "repeat":
            parent[f"{key}-2"] = deepcopy(parent[key])
        elif kind == "misplace":
            parent[key] = deepcopy(at(config, draw(st.sampled_from(there))))
        else:
            parent[key] = deepcopy(draw(st.sampled_from(VALUES)))
    return config


@hypothesis.settings(max_examples=int(os.environ.get("RNCA_EXAMPLES", "100")))
@given(mutants())
def test_mutants_are_refused_in_sentences_or_can_be_planned(config):
    try:
        settings = check(config)
    except WorkflowError as error:
        sentences(error)
    else:
        foresee(settings)


def test_schema_for_editors_is_that_of_the_models_and_knows_mistakes():
    written = json.loads((CONFIG / "schema.json").read_text(encoding="utf-8"))
    assert written == schema(), "run `make settings`"
    validator = jsonschema.Draft202012Validator(written)
    for name in ("test", "config", "paper"):
        assert not list(validator.iter_errors(load(CONFIG / f"{name}.yaml")))
    assert not list(validator.iter_errors({"run": "a", "datasets": {"mine": MINE}}))
    for place, value in (("sed", 1), ("rcca.digits.reg", "small"), ("rcca.digits.dataset", ...)):
        assert list(validator.iter_errors(changed(BASE, place, value)))


def test_readme_has_the_tables_of_the_models_and_explains_every_key():
    readme = (CONFIG / "README.md").read_text(encoding="utf-8")
    assert with_tables(readme) == readme, "run `make settings`"
    for key in ("`datasets.<name>.x`", "`pca.times.random`, `cca.times.random`"):
        assert f"| {key} | required | " in readme
    assert "| `rpca` | `{}` | RPCA and RCCA against exact kernel methods" in readme
    assert "|  |" not in readme, "a key without a description"
