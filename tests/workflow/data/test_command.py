"""``python -m workflow.data``; its ``check`` is tested with own data."""

import pytest

from workflow.data.__main__ import main
from workflow.data.catalogue import CATALOGUE
from workflow.data.prepared import load_prepared


@pytest.fixture(autouse=True)
def nowhere(tmp_path, monkeypatch):
    monkeypatch.delenv("RNCA_MIRROR", raising=False)
    monkeypatch.setenv("RNCA_CACHE", str(tmp_path / "cache"))


def test_list_says_how_each_dataset_is_had(capsys, tmp_path, monkeypatch):
    assert main(["list"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines[1:]] == list(CATALOGUE)
    had = dict(zip(CATALOGUE, lines[1:], strict=True))
    assert "embedded" in had["digits"]
    assert "from the network, untried" in had["mnist"]
    for file in CATALOGUE["xrmb-jw"].source.files.values():
        place = tmp_path / "mirror" / file.mirror
        place.parent.mkdir(parents=True, exist_ok=True)
        place.touch()
    monkeypatch.setenv("RNCA_MIRROR", str(tmp_path / "mirror"))
    main(["list"])
    last = capsys.readouterr().out.splitlines()[-1]
    assert "from the network, untried (wrong content in the mirror: " in last
    monkeypatch.setattr("workflow.data.catalogue.in_mirror", lambda file: True)
    main(["list"])
    assert "in the mirror" in capsys.readouterr().out.splitlines()[-1]


def test_prepare_and_fetch_embedded_data(capsys, tmp_path):
    assert main(["prepare", "digits", str(tmp_path / "digits")]) == 0
    assert "x: 1797 × 32 uint8" in capsys.readouterr().out
    assert load_prepared(tmp_path / "digits", verify=True).name == "digits"
    assert main(["fetch", "digits"]) == 0
    assert "nothing to fetch" in capsys.readouterr().out


def test_errors_are_one_message(capsys):
    assert main(["prepare", "nothing", "x"]) == 1
    assert capsys.readouterr().err.startswith("error: unknown dataset 'nothing'")
