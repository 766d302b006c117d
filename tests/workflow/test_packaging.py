"""What pyproject.toml declares: against the lock, conda, the citation, and what is imported."""

import ast
import os
import re
import shutil
import subprocess
import sys
import tomllib
from importlib.metadata import distributions, packages_distributions
from typing import Any

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import kernels
import rnca
from projects import ROOT
from workflow.data.catalogue import CATALOGUE, parser_script
from workflow.lib.requests import closure

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
CONDA_NAMES = {"matplotlib": "matplotlib-base", "snakemake": "snakemake-minimal"}
PIP_ONLY = {"kaldi-native-fbank>=1.20"}


def direct(*extras: str) -> list[Requirement]:
    project = PROJECT["project"]
    optional = [project["optional-dependencies"][extra] for extra in extras]
    return [Requirement(line) for lines in (project["dependencies"], *optional) for line in lines]


# What each lock must hold; the editable installation builds with what is locked too.
LOCKS = {
    "requirements.lock": [
        *direct("workflow", "slurm", "dev"),
        *map(Requirement, [*PROJECT["build-system"]["requires"], "pip"]),
    ],
    "docs/requirements.lock": direct("docs"),
}


def pins(lock: str) -> list[tuple[str, str]]:
    """Names and versions in a lock; a package may be there twice, for different markers."""
    text = (ROOT / lock).read_text(encoding="utf-8")
    return re.findall(r"^([A-Za-z0-9._-]+)==([^\s;]+)", text, flags=re.MULTILINE)


@pytest.mark.parametrize("lock", LOCKS)
def test_lock_satisfies_its_requirements_with_hashes_and_without_addresses(lock):
    for requirement in LOCKS[lock]:
        name = canonicalize_name(requirement.name)
        versions = [version for pinned, version in pins(lock) if pinned == name]
        assert versions, f"{requirement} is not in {lock}: call `make lock`"
        assert all(requirement.specifier.contains(version) for version in versions)
    text = (ROOT / lock).read_text(encoding="utf-8")
    entries = [each for each in re.split(r"\n(?=\S)", text.strip()) if not each.startswith("#")]
    assert [each for each in entries if "--hash=sha256:" not in each] == []
    assert not re.search(r"://|^\s*-[^-]|^\s*--(?!hash=)| @ ", text, flags=re.MULTILINE)


def test_locks_agree_and_have_one_numpy_and_one_scipy_for_all_pythons():
    ours, docs = pins("requirements.lock"), pins("docs/requirements.lock")
    assert {pin for pin in docs if pin[0] in dict(ours)} <= set(ours)
    names = [name for name, _ in ours]
    assert names.count("numpy") == names.count("scipy") == 1


def test_actions_are_pinned():
    for file in (ROOT / ".github" / "workflows").iterdir():
        used = re.findall(r"uses: (.+)", file.read_text(encoding="utf-8"))
        assert [each for each in used if not re.search(r"@[0-9a-f]{40} # v\d", each)] == []


# Raises, as if nothing but the library's own dependencies were installed.
BLOCKER = """
import runpy, sys

class Blocker:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {blocked!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

sys.meta_path.insert(0, Blocker())
"""


def run_without_extras(code: str, **options: Any) -> subprocess.CompletedProcess[str]:
    extras = {canonicalize_name(r.name) for r in direct("workflow", "dev")}
    extras -= {canonicalize_name(r.name) for r in direct()}
    blocked = {
        module
        for module, distributions in packages_distributions().items()
        if extras & {canonicalize_name(name) for name in distributions}
    }
    assert {"pandas", "matplotlib", "yaml", "PIL", "requests", "rdata", "snakemake"} <= blocked
    return subprocess.run(
        [sys.executable, "-c", BLOCKER.format(blocked=blocked) + code],
        capture_output=True,
        text=True,
        check=False,
        **options,
    )


def test_datasets_without_the_extras_say_what_to_install():
    module = "sys.argv[1:] = ['list']\nrunpy.run_module('workflow.data', run_name='__main__')"
    done = run_without_extras(module)
    assert done.returncode == 1
    assert done.stderr.endswith("datasets need: pip install 'rnca[workflow]'\n")
    assert "Traceback" not in done.stderr


def test_files_that_others_name_are_there_and_agree():
    assert [path for path in kernels.FILES if not path.exists()] == []
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert rnca.__version__ == citation["version"]


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """A folder with the wheel installed, built from a copy of what the wheel is made from."""
    source, folder = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("installed")
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source)
    shutil.copytree(ROOT / "src" / "rnca", source / "src" / "rnca")
    install = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    options = ["--no-deps", "--no-build-isolation", "--no-index", "--target", folder, source]
    subprocess.run([*install, *options], check=True)
    return folder


def test_wheel_holds_the_library_alone_with_its_metadata(installed):
    names = {path.name for path in installed.iterdir()}
    assert names == {"rnca", f"rnca-{rnca.__version__}.dist-info"}
    assert (installed / "rnca" / "py.typed").exists()
    (found,) = distributions(path=[str(installed)])
    assert found.version == rnca.__version__
    assert found.metadata["License-Expression"] == "MIT"
    assert found.metadata["Requires-Python"] == PROJECT["project"]["requires-python"]
    assert found.metadata.get_all("Project-URL")
    needed = {line for line in found.requires or [] if "extra ==" not in line}
    assert needed == set(PROJECT["project"]["dependencies"])


def test_library_and_quick_start_need_the_wheel_and_its_own_dependencies_only(installed, tmp_path):
    page = (ROOT / "docs" / "index.md").read_text(encoding="utf-8")
    (start,) = re.findall(r"^```python\n(.*?)^```", page, flags=re.DOTALL | re.MULTILINE)
    names = "print(rnca.__file__, *(getattr(rnca, name).__name__ for name in rnca.__all__))"
    done = run_without_extras(
        f"{start}\nimport rnca\n{names}",
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(installed)},
    )
    assert done.stderr == ""
    found = done.stdout.splitlines()[-1].split()
    assert found == [str(installed / "rnca" / "__init__.py"), *rnca.__all__]


def conda_name(requirement: Requirement) -> str:
    return CONDA_NAMES.get(requirement.name, requirement.name) + str(requirement.specifier)


def conda_environment(path: str) -> set[str]:
    """Return the packages of an environment file, those under pip too, but not Python and pip."""
    found = yaml.safe_load((ROOT / path).read_text(encoding="utf-8"))["dependencies"]
    packages = {package for package in found if isinstance(package, str)}
    pip = {package for part in found if isinstance(part, dict) for package in part["pip"]}
    assert pip <= {*PIP_ONLY, "-e ."}
    assert not PIP_ONLY & packages
    assert ("pip" in packages) == bool(pip)
    return {*packages, *pip} - {f"python{PROJECT['project']['requires-python']}", "pip"}


def test_conda_environments_hold_the_direct_dependencies():
    assert conda_environment("environment.yml") == {"-e .", *map(conda_name, direct("workflow"))}
    assert conda_environment("workflow/envs/slurm.yaml") == set(
        PROJECT["project"]["optional-dependencies"]["slurm"]
    )


def imported_by(scripts: set[str]) -> set[str]:
    """Return what scripts of jobs import, directly or not, under its conda names."""
    files = {file for script in scripts for file in closure(ROOT / "workflow" / script)}
    text = "\n".join(file.read_text(encoding="utf-8") for file in files)
    imported = set(re.findall(r"^\s*(?:import|from) (\w+)", text, flags=re.MULTILINE))
    names = {
        canonicalize_name(name)
        for module, distributions in packages_distributions().items()
        if module in imported
        for name in distributions
    }
    return {conda_name(r) for r in direct("workflow", "slurm") if r.name in names}


def test_conda_environments_of_the_jobs_hold_what_they_import():
    """Jobs run under Snakemake's own Python or in these environments; all find the project."""
    scripts = {
        (file.parent / script).resolve().relative_to(ROOT / "workflow").as_posix()
        for file in (ROOT / "workflow").rglob("*.smk")
        for script in re.findall(r'script:\s+"(.+?\.py)"', file.read_text("utf-8"))
    }
    assert {"data/fetch.py", "data/catalogue.py", "stages/rcca/fit.py"} <= scripts
    preparing = {"data/fetch.py", *map(parser_script, (*CATALOGUE, "own data"))}
    prepared = imported_by(preparing)
    rest = imported_by(scripts - {"data/fetch.py", "data/catalogue.py"})
    assert "rdata>=1.0" in prepared
    assert not any("snakemake" in package for package in prepared | rest)
    assert conda_environment("workflow/envs/data.yaml") == prepared
    assert conda_environment("workflow/envs/rnca.yaml") == rest


def test_shared_run_is_made_once(tmp_path):
    """Pytest, pytest-xdist and our hook together keep its tests in one process."""
    (tmp_path / "conftest.py").write_text(
        "import os, pathlib, pytest\n"
        "@pytest.fixture(scope='session')\n"
        "def finished():\n"
        "    pathlib.Path(f'{os.getpid()}.run').touch()\n"
    )
    for name in "abcd":
        text = "def test(finished): pass\ndef test_other(): pass\n"
        (tmp_path / f"test_{name}.py").write_text(text)
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    (options,) = re.findall(r"^pytest := .+ -m pytest (.+)$", makefile, re.MULTILINE)
    options = options.replace("$(or $(CORES),2)", "2").split()
    command = [sys.executable, "-m", "pytest", "-p", "grouping", *options]
    paths = [str(ROOT / "tests"), *filter(None, [os.environ.get("PYTHONPATH")])]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(paths)}
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert "8 passed" in done.stdout, done.stdout
    assert len(list(tmp_path.glob("*.run"))) == 1


INITS = sorted(
    file.relative_to(ROOT)
    for package in ("src/rnca", "workflow")
    for file in (ROOT / package).rglob("__init__.py")
)


@pytest.mark.parametrize("file", INITS, ids=str)
def test_init_files_hold_imports_names_and_the_version_only(file):
    """Those of `rnca` and `workflow` themselves are not part of the code of any job."""
    for node in ast.parse((ROOT / file).read_text(encoding="utf-8")).body:
        if isinstance(node, ast.FunctionDef):  # by which names are imported when they are used
            assert node.name in ("__getattr__", "__dir__")
            continue
        is_text = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        kinds = (ast.Import, ast.ImportFrom, ast.Assign, ast.AnnAssign)
        assert is_text or isinstance(node, kinds), ast.unparse(node)
        calls = {ast.unparse(part.func) for part in ast.walk(node) if isinstance(part, ast.Call)}
        assert calls <= {"sorted", "_MODULES.items"}, ast.unparse(node)
