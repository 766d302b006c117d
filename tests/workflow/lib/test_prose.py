"""Sentences: said with the numbers of a run, not said where their premise does not hold."""

import json
import re
from copy import deepcopy
from pathlib import Path

import pytest

from workflow.lib import prose
from workflow.lib.exhibits import read_exhibits, stage_names

ROOT = Path(__file__).parents[3]
PUBLISHED = ROOT / "results" / "published"


@pytest.fixture
def names():
    """What sentences about the published run may name."""
    numbers = {
        file.parent.name: json.loads(file.read_text("utf-8"))
        for file in PUBLISHED.glob("*/numbers.json")
    }
    assert numbers.keys() == set(stage_names())
    return prose.known(numbers, json.loads((PUBLISHED / "claims.json").read_text("utf-8")))


def test_everything_of_the_article_can_be_said_of_the_published_run(names):
    said = prose.tell(names)
    others = ("own-", "rcca_model", "embedded")
    unsaid = {name for name in prose.templates() if name.startswith(others)}
    unsaid.add("rcca_overfitting")  # its grid is of the next run
    assert prose.templates().keys() - said.keys() - unsaid == {"table", "sections"}
    for text in said.values():
        assert not re.search(r"\bnan\b|None|\{|\}|  ", text), text
    # Short enough to be read.
    for section in prose.templates()["sections"]:
        assert len(said[f"{section['id']}-text"].split()) <= 75, section["id"]
    files = {
        Path(each.file).stem for stage in stage_names() for each in read_exhibits(stage).exhibits
    }
    for section in prose.templates()["sections"]:
        assert files >= {*section["figures"], section["numbers"]}, section["id"]


def changed(names, path, value):
    found = deepcopy(names)
    *way, last = path.split(".")
    place = found
    for key in way:
        place = place[key]
    place[last] = value
    return found


@pytest.mark.parametrize(
    ("path", "value", "name", "says"),
    [
        ("rcca.mnist.dcca.sum", 30.0, "time-heading", "It is faster than deep CCA."),
        ("rcca.mnist.dcca.sum", 30.0, "rcca_minutes", None),
        ("speech.utterances.fourier.sum", 70.0, "answer-speech", "**On speech** Fourier features"),
        ("bounds.theorem4.excess", 0.9, "theory-text", None),
        ("claims.theorem_4_bound.verdict", "reproduced", "theory-heading", "What simulation says"),
        ("counts.not reproduced", 0, "answer-claims", "**None of the "),
        ("lupi.awa.rcca_permuted_animals.raw.difference", -3.0, "lupi-heading", "What attributes"),
        ("autoencoder.mnist.against.median", 5.0, "pictures-heading", "Random autoencoders"),
    ],
)
def test_a_sentence_follows_its_premise(names, path, value, name, says):
    if path.startswith("counts."):  # both of these claims would fail otherwise
        names["claims"]["lupi_gain"]["verdict"] = "reproduced"
    before, after = prose.tell(names).get(name), prose.tell(changed(names, path, value)).get(name)
    assert before
    assert before != after
    assert after is None if says is None else after.startswith(says)


def test_a_sentence_without_its_numbers_is_not_said(names):
    del names["rcca"]["mnist"]["dcca2013"]
    said = prose.tell(names)
    assert "time-caveat" not in said
    assert "time-text" in said
    assert "question" in prose.tell({})


def test_own_data_are_told_by_the_best_model():
    model = {
        "title": "Mine, RCCA, Fourier",
        "map": "fourier",
        "real": [0.99, 0.9],
        "components": 5,
        "p": 0.001,
        "m": 100,
        "reg": 0.1,
        "given_away": 0.0,
    }
    linear = {**model, "map": "linear", "real": []}
    ledger = {"claims": [], "counts": {}}
    said = prose.tell(prose.known({"rcca": {"models": [model, linear]}}, ledger))
    assert (
        said["own-heading"]
        == "RCCA finds two shared components (0.99, 0.90); linear CCA finds none."
    )
    assert said["own-text"].endswith("reg = 0.1 for Mine, RCCA, Fourier.")
    leaking = {**model, "given_away": 0.198}
    said = prose.tell(prose.known({"rcca": {"models": [leaking, linear]}}, ledger))
    assert "Fourier. But training rows give away 19.8 % of the test rows" in said["own-text"]
    said = prose.tell(prose.known({"rcca": {"models": [{**model, "real": []}]}}, ledger))
    assert said["own-heading"] == "No component that the two views share is more than chance."


@pytest.mark.parametrize(
    ("minutes", "said"),
    [
        (40 / 60, "40 seconds"),
        (1 / 60, "1 second"),
        (2.41, "2.4 minutes"),
        (787, "13 hours"),
        (60, "60 minutes"),
    ],
)
def test_times_are_written_as_one_says_them(minutes, said):
    assert prose.time(minutes) == said


def test_readme_has_the_table_of_the_published_run(names):
    assert prose.table(names) in (ROOT / "README.md").read_text("utf-8"), (
        "README's table is not that of results/published; put this there:\n" + prose.table(names)
    )
    ledger = json.loads((PUBLISHED / "claims.json").read_text("utf-8"))
    assert ledger["blind"] in (ROOT / "README.md").read_text("utf-8")
