"""requirements.lock and environment.yml against pyproject.toml, which both are made from."""

import re
import tomllib
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
LOCK = (ROOT / "requirements.lock").read_text(encoding="utf-8")
CONDA_NAMES = {"matplotlib": "matplotlib-base", "snakemake": "snakemake-minimal"}


def direct(*extras: str) -> list[Requirement]:
    project = PROJECT["project"]
    lines = project["dependencies"] + [
        line for extra in extras for line in project["optional-dependencies"][extra]
    ]
    return [Requirement(line) for line in lines]


def pins() -> list[tuple[str, str]]:
    """Names and versions in the lock; a package may be there twice, for different markers."""
    return re.findall(r"^([A-Za-z0-9._-]+)==([^\s;]+)", LOCK, flags=re.MULTILINE)


@pytest.mark.parametrize("requirement", direct("workflow", "dev"), ids=str)
def test_lock_satisfies_every_direct_dependency(requirement):
    versions = [v for name, v in pins() if name == canonicalize_name(requirement.name)]
    assert versions, f"{requirement} is not in requirements.lock: call `make lock`"
    assert all(requirement.specifier.contains(version) for version in versions)


def test_lock_holds_what_the_editable_installation_builds_with():
    names = {name for name, _ in pins()}
    assert {Requirement(line).name for line in PROJECT["build-system"]["requires"]} <= names


@pytest.mark.parametrize("name", ["numpy", "scipy"])
def test_lock_has_one_version_for_all_pythons(name):
    assert [pinned for pinned, _ in pins()].count(name) == 1


def test_lock_has_a_hash_for_every_pin_and_no_address():
    entries = re.split(r"\n(?=\S)", LOCK.strip())
    unhashed = [e for e in entries if not e.startswith("#") and "--hash=sha256:" not in e]
    assert unhashed == []
    assert not re.search(r"://|^\s*-[^-]|^\s*--(?!hash=)| @ ", LOCK, flags=re.MULTILINE)


def test_conda_environment_holds_the_direct_dependencies():
    environment = yaml.safe_load((ROOT / "environment.yml").read_text(encoding="utf-8"))
    *packages, pip = environment["dependencies"]
    expected = {f"python{PROJECT['project']['requires-python']}", "pip"} | {
        CONDA_NAMES.get(r.name, r.name) + str(r.specifier) for r in direct("workflow")
    }
    assert set(packages) == expected
    assert pip == {"pip": ["-e ."]}
