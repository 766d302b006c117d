"""What a job's code is: its script and what that imports, without comments and docstrings."""

import pytest

from workflow.lib import code_version

FILES = {
    "src/rnca/__init__.py": "",
    "src/rnca/stages/__init__.py": "",
    "src/rnca/stages/fit.py": "from rnca.deep import depth\nimport numpy\n",
    "src/rnca/deep.py": "def depth():\n    return 1\n",
    "src/rnca/other.py": "x = 1\n",
    "workflow/scripts/job.py": "y = 1\n",
    "workflow/scripts/fit.py": "from job import y\nfrom rnca.stages import fit\n",
}


@pytest.fixture
def version(tmp_path, monkeypatch):
    """Return the version of fit.py in a tree of `FILES` with some of them changed."""
    trees = iter(range(99))

    def version(**changes):
        root = tmp_path / str(next(trees))
        for path, text in (FILES | changes).items():
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).write_text(text, encoding="utf-8")
        monkeypatch.setattr(code_version, "ROOT", root)
        monkeypatch.setattr(code_version, "LIBRARY", root / "src" / "rnca")
        monkeypatch.setattr(code_version, "SCRIPTS", root / "workflow" / "scripts")
        code_version.code_version.cache_clear()
        return code_version.code_of("fit.py")(None)

    return version


@pytest.mark.parametrize(
    "change",
    [
        {"src/rnca/deep.py": "def depth():\n    return 2\n"},
        {"src/rnca/stages/__init__.py": "z = 1\n"},
        {"workflow/scripts/job.py": "y = 2\n"},
        {"workflow/scripts/fit.py": "from job import y\nimport rnca.stages.fit\n"},
    ],
    ids=lambda change: next(iter(change)),
)
def test_what_is_imported_counts(version, change):
    assert version(**change) != version()


@pytest.mark.parametrize(
    "change",
    [
        {"src/rnca/other.py": "x = 2\n"},
        {"src/rnca/__init__.py": "from rnca.other import x\n"},
        {"src/rnca/deep.py": '"""Doc."""\n\n\ndef depth():\n    """Doc."""\n    return 1  # why\n'},
    ],
    ids=["not imported", "the package itself", "comments and docstrings"],
)
def test_what_changes_no_behaviour_does_not_count(version, change):
    assert version(**change) == version()


def test_script_must_name_the_module_it_imports(version):
    with pytest.raises(ValueError, match=r"fit.py imports from the package rnca itself; name"):
        version(**{"workflow/scripts/fit.py": "from rnca import deep\n"})


def test_closure_of_the_stages():
    def names(script):
        files = code_version.closure(code_version.SCRIPTS / script)
        return {path.relative_to(code_version.ROOT).as_posix() for path in files}

    fit, table = names("rcca_path.py"), names("rcca_table.py")
    assert {"src/rnca/stages/rcca.py", "src/rnca/cca.py", "src/rnca/moments.py"} <= fit
    assert "src/rnca/reporting/tables.py" in table
    assert not {"src/rnca/cca.py", "src/rnca/datasets/catalogue.py"} & table
    assert not {"src/rnca/dcca.py", "src/rnca/kcca.py"} & (table | names("rcca_minutes.py"))
    assert not {"src/rnca/reporting/tables.py", "src/rnca/datasets/fetch.py"} & fit
