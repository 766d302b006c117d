"""The examples in docstrings run, and every public name has one."""

import doctest
from importlib import import_module

import pytest

import rnca

MODULES = [
    "cca",
    "exact",
    "features",
    "mapping",
    "moments",
    "pca",
    "rows",
    "seeding",
    "spectral",
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
    "name", ["RCCA", "RPCA", "FourierFeatures", "NystroemFeatures", "LinearFeatures", "Moments"]
)
def test_classes_have_an_example(name):
    example = doctest.DocTestParser().get_examples(getattr(rnca, name).__doc__)
    assert example


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        rnca.nonsense  # noqa: B018
