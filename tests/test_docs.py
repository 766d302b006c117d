"""The examples in docstrings and in the README run, and every public name has one."""

import doctest
import re
import runpy
from importlib import import_module
from pathlib import Path

import pytest

import rnca

ROOT = Path(__file__).parents[1]
PYTHON = re.compile(r"^```python\n(.*?)^```", flags=re.DOTALL | re.MULTILINE)
LIBRARY = ROOT / "src" / "rnca"
MODULES = [
    ".".join(("rnca", *file.relative_to(LIBRARY).with_suffix("").parts))
    for file in sorted(LIBRARY.rglob("*.py"))
    if ">>> " in file.read_text(encoding="utf-8")
]


@pytest.mark.parametrize("name", MODULES)
def test_examples_run(name):
    assert doctest.testmod(import_module(name)).failed == 0


@pytest.mark.parametrize("name", rnca.__all__)
def test_public_names_are_documented(name):
    assert name in dir(rnca)
    assert getattr(rnca, name).__doc__.strip()


@pytest.mark.parametrize(
    "name", [name for name in rnca.__all__ if name[0].isupper() or name.startswith("rdc")]
)
def test_classes_have_an_example(name):
    example = doctest.DocTestParser().get_examples(getattr(rnca, name).__doc__)
    assert example


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        rnca.nonsense  # noqa: B018


def test_the_readmes_library_example_runs(capsys):
    (example,) = PYTHON.findall((ROOT / "README.md").read_text(encoding="utf-8"))
    names: dict[str, object] = {}
    exec(example, names)
    assert float(capsys.readouterr().out) > 0.8
    assert [model.map_x_.n_features_out for model in names["smaller"]] == [50, 100, 200]
    assert names["scores"].shape == (4000, 2)


def blocks_of_python():
    for page in sorted(ROOT.glob("docs/*.md")):
        if blocks := PYTHON.findall(page.read_text(encoding="utf-8")):
            yield pytest.param(blocks, id=page.stem)


@pytest.mark.parametrize("blocks", list(blocks_of_python()))
def test_the_python_of_a_page_runs(blocks):
    names: dict[str, object] = {}
    for block in blocks:
        exec(block, names)


@pytest.mark.parametrize("script", sorted(ROOT.glob("examples/*.py")), ids=lambda file: file.stem)
def test_example_script_runs_and_says_something(script, capsys):
    runpy.run_path(str(script), run_name="__main__")
    assert len(capsys.readouterr().out) > 50


def test_guarantees_name_tests_that_exist():
    page = (ROOT / "docs" / "guarantees.md").read_text(encoding="utf-8")
    there = {
        name
        for file in (ROOT / "tests").rglob("test_*.py")
        for name in re.findall(r"^def (test_\w+)", file.read_text(encoding="utf-8"), re.MULTILINE)
    }
    statements = [
        line for line in page.splitlines() if line.startswith("| ") and "tests |" not in line
    ]
    assert len(statements) > 15
    for statement in statements:
        named = set(re.findall(r"`(test_\w+)`", statement))
        assert named, statement
        assert named <= there, named - there
