"""What a job's code is: its module and what that imports, without comments and docstrings."""

import os
from pathlib import Path

import pytest

from workflow.lib import requests

FIT = "workflow/stages/one/fit.py"
FILES = {
    "src/rnca/__init__.py": "",
    "src/rnca/_core/__init__.py": "",
    "src/rnca/_core/deep.py": "def depth():\n    return 1\n",
    "src/rnca/other.py": "x = 1\n",
    "workflow/__init__.py": "",
    "workflow/stages/one/__init__.py": "",
    "workflow/stages/one/settings.py": "x = 1\n",
    "workflow/lib/job.py": "y = 1\n",
    FIT: "from workflow.lib.job import y\nfrom rnca._core.deep import depth\nimport numpy\n",
}


@pytest.fixture
def version(tmp_path, monkeypatch):
    """Return the version of fit.py in a tree of `FILES` with some of them changed."""

    def version(**changes):
        root = tmp_path / str(len(changes))
        for path, text in (FILES | changes).items():
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).write_text(text, encoding="utf-8")
        packages = {"rnca": root / "src" / "rnca", "workflow": root / "workflow"}
        monkeypatch.setattr(requests, "ROOT", root)
        monkeypatch.setattr(requests, "PACKAGES", packages)
        requests.code_version.cache_clear()
        return requests.code_version("stages/one/fit.py")

    yield version
    requests.code_version.cache_clear()


@pytest.mark.parametrize(
    ("path", "text", "counts"),
    [
        ("src/rnca/_core/deep.py", "def depth():\n    return 2\n", True),
        ("src/rnca/_core/__init__.py", "z = 1\n", True),
        ("workflow/lib/job.py", "y = 2\n", True),
        (FIT, FILES[FIT] + "z = 1\n", True),
        ("src/rnca/other.py", "x = 2\n", False),
        ("workflow/stages/one/settings.py", "x = 2\n", False),
        ("src/rnca/__init__.py", "from rnca.other import x\n", False),
        ("workflow/lib/job.py", '"""Doc."""\n\ny = 1  # why\n', False),
    ],
)
def test_what_is_imported_counts_but_for_comments_and_docstrings(version, path, text, counts):
    assert (version(**{path: text}) != version()) == counts


def test_module_must_name_the_module_it_imports(version):
    with pytest.raises(ValueError, match=r"fit.py imports from the package rnca itself; name"):
        version(**{FIT: "from rnca import deep\n"})


def test_closures_of_the_stages():
    def names(script):
        files = requests.closure(requests.ROOT / "workflow" / script)
        return {path.relative_to(requests.ROOT).as_posix() for path in files}

    fit, report = names("stages/rcca/fit.py"), names("stages/rcca/report.py")
    assert {"src/rnca/cca.py", "src/rnca/moments.py", "workflow/lib/job.py"} <= fit
    assert "workflow/stages/rcca/table1.py" in report
    assert not {"src/rnca/cca.py", "workflow/data/catalogue.py"} & report
    assert not {"workflow/stages/rcca/dcca.py", "workflow/lib/exact.py"} & (report | fit)
    assert not {"workflow/lib/tables.py", "workflow/data/fetch.py"} & fit
    assert "workflow/stages/rcca/networks.py" in names("stages/rcca/deep.py")
    assert "workflow/stages/rcca/networks.py" not in names("stages/rcca/kernel.py")
    for stage in ("rcca", "lupi"):
        assert f"workflow/stages/{stage}/settings.py" not in names(f"stages/{stage}/fit.py")
    assert "workflow/lib/models.py" not in fit | report


def test_plan_that_cannot_read_what_is_asked_for_ends_with_a_sentence(tmp_path, capsys):
    def settings(wildcards):
        return {"own": Path(tmp_path, "own.npy").read_text()}

    request = requests.Request("lib/job.py", settings, f"{tmp_path}/job.json", lambda: False)
    with pytest.raises(SystemExit) as ended:
        request.file({})
    assert ended.value.code == os.EX_IOERR
    assert "The jobs cannot be planned: [Errno 2]" in capsys.readouterr().err
