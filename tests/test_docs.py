"""The examples in docstrings and in the README run, and every public name has one."""

import doctest
import re
from importlib import import_module
from pathlib import Path

import pytest

import rnca

MODULES = [
    "autoencoder",
    "cca",
    "exact",
    "features",
    "joint",
    "mapping",
    "moments",
    "pca",
    "regression",
    "rows",
    "seeding",
    "spectral",
    "streaming",
    "whitening",
]


@pytest.mark.parametrize("name", MODULES)
def test_examples_run(name):
    assert doctest.testmod(import_module(f"rnca.{name}")).failed == 0


@pytest.mark.parametrize("name", rnca.__all__)
def test_public_names_are_documented(name):
    assert name in dir(rnca)
    assert getattr(rnca, name).__doc__.strip()


@pytest.mark.parametrize(
    "name",
    [
        "RCCA",
        "RPCA",
        "RandomizedAutoencoder",
        "FourierFeatures",
        "NystroemFeatures",
        "LinearFeatures",
        "Moments",
    ],
)
def test_classes_have_an_example(name):
    example = doctest.DocTestParser().get_examples(getattr(rnca, name).__doc__)
    assert example


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        rnca.nonsense  # noqa: B018


def test_the_readmes_library_example_runs(capsys):
    readme = (Path(__file__).parents[1] / "README.md").read_text(encoding="utf-8")
    (example,) = re.findall(r"^```python\n(.*?)^```", readme, flags=re.DOTALL | re.MULTILINE)
    names: dict[str, object] = {}
    exec(example, names)
    assert float(capsys.readouterr().out) > 0.8
    assert [model.map_x_.n_features_out for model in names["smaller"]] == [50, 100, 200]
    assert names["scores"].shape == (4000, 2)
