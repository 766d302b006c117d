"""The examples in docstrings, pages and gallery run, and the site has every public name."""

import doctest
import os
import re
import runpy
import warnings
from importlib import import_module
from pathlib import Path

import pytest
from matplotlib import pyplot

import rnca

ROOT = Path(__file__).parents[1]
PYTHON = re.compile(r"^```python\n(.*?)^```", flags=re.DOTALL | re.MULTILINE)
GALLERY = sorted(ROOT.glob("examples/plot_*.py"))
SLOW = {
    "plot_06_rows_from_disk",
    "plot_07_kernel_pca",
    "plot_11_privileged_information",
    "plot_12_dask_cluster",
}
# What the titles of the pictures say, of the variables that a script leaves.
FINDINGS = {
    "plot_01_two_views": "rcca.score(x_new, y_new) > linear.score(x_new, y_new) + 1",
    "plot_03_choose_settings": "scores[1] > scores[3] > scores[5]",
    "plot_04_how_many_are_real": "2 <= result.n_significant() < 8 and alarms['single rows'] > 20"
    " and alarms['blocks of 50'] < 15",
    "plot_05_loadings_and_prediction": "rcca.prediction_score(x_new, y_new)"
    " > linear.prediction_score(x_new, y_new)",
    "plot_06_rows_from_disk": "max(megabytes) < 1.2 * min(megabytes)",
    "plot_07_kernel_pca": "cosines.min() > 0.999",
    "plot_08_classes_and_clusters": "rlda.score(x_new, c_new) > linear"
    " and max(right, 1 - right) > 0.99",
    "plot_10_autoencoder": "models['PCA encoder, curved decoder'].error(x_new)"
    " < models['PCA'].error(x_new)",
}
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
def test_public_names_are_documented_with_an_example(name):
    assert name in dir(rnca)
    assert doctest.DocTestParser().get_examples(getattr(rnca, name).__doc__)


def test_the_api_page_lists_every_public_name_once():
    page = (ROOT / "docs" / "api.md").read_text(encoding="utf-8")
    assert sorted(re.findall(r"^   (\w+)$", page, re.MULTILINE)) == sorted(rnca.__all__)


def test_links_to_the_gallery_name_examples_that_exist():
    for page in ROOT.glob("docs/*.md"):
        linked = re.findall(r"gallery/(plot_\w+)\.rst", page.read_text(encoding="utf-8"))
        assert set(linked) <= {script.stem for script in GALLERY}, page


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        rnca.nonsense  # noqa: B018


def test_the_readmes_library_example_runs(capsys):
    (example,) = PYTHON.findall((ROOT / "README.md").read_text(encoding="utf-8"))
    names: dict[str, object] = {}
    exec(example, names)
    score, p_values = capsys.readouterr().out.splitlines()
    assert float(score) > 0.8
    assert float(p_values.strip("[]").split()[0]) < 0.01


def test_the_readme_is_short_enough_to_be_read():
    assert len((ROOT / "README.md").read_text(encoding="utf-8").split()) <= 600


def blocks_of_python():
    for page in sorted(ROOT.glob("docs/*.md")):
        if blocks := PYTHON.findall(page.read_text(encoding="utf-8")):
            yield pytest.param(blocks, id=page.stem)


@pytest.mark.parametrize("blocks", list(blocks_of_python()))
def test_the_python_of_a_page_runs(blocks):
    names: dict[str, object] = {}
    for block in blocks:
        exec(block, names)


@pytest.mark.parametrize("script", GALLERY, ids=lambda file: file.stem)
def test_gallery_example_runs_prints_and_draws(script, capsys):
    if script.stem in SLOW and "RNCA_EXAMPLES" not in os.environ:
        pytest.skip("takes seconds: run by `make test-all`")
    pyplot.switch_backend("agg")
    with warnings.catch_warnings():
        names = runpy.run_path(str(script), run_name="__main__")
    assert eval(FINDINGS.get(script.stem, "True"), names)
    assert len(capsys.readouterr().out) > 40
    assert pyplot.get_fignums()
    pyplot.close("all")


def test_the_part_of_the_readme_that_the_site_shows_is_there():
    page = (ROOT / "docs" / "reproduction.md").read_text(encoding="utf-8")
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    for end in re.findall(r'^:(?:start-after|end-before): "(.+)"$', page, re.MULTILINE):
        assert readme.count(end) == 1


def test_the_reproducers_matrix_names_exhibits_that_exist():
    page = (ROOT / "docs" / "reproduce.md").read_text(encoding="utf-8")
    there = "\n".join(
        file.read_text("utf-8") for file in (ROOT / "workflow").glob("stages/*/exhibits.yaml")
    )
    files = set(re.findall(r"`((?:tables|figures)/\w+\.(?:md|svg))`", page)) - {"tables/claims.md"}
    assert len(files) > 10
    assert [file for file in files if f"file: {file}\n" not in there] == []
    names = re.findall(r"^\|[^|]+\| `([a-z]\w+)` \|", page, re.MULTILINE)
    assert len(names) > 8
    assert [name for name in names if f"/{name}." not in there] == []


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
