"""Settings with mistakes that hypothesis makes: each is named, or the run can be planned."""

from copy import deepcopy
from datetime import date
from inspect import getmembers, ismethod, signature
from pathlib import Path
from types import SimpleNamespace

import hypothesis
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from snakemake.exceptions import WorkflowError

from workflow import settings
from workflow.plan import Plan

CONFIG = Path(__file__).parents[2] / "config"
VALID = {
    name: yaml.safe_load((CONFIG / f"{name}.yaml").read_text(encoding="utf-8"))
    for name in ("test", "config", "paper")
}
# What YAML makes of what people type: .inf, 1e400 (a text), 2020-01-01, yes, ~, …
VALUES = [None, True, False, "", "text", "1", "a/../b\n", date(2020, 1, 1), [], [[1]], {}, {"a": 1}]
NUMBERS = [-1, 0, 1, 2.0, 0.5, 1e-320, 1e308, float("inf"), float("nan"), 10**20, 10**400]
FACTORS = [-1, 10, 10**6, 10**18, 0.5, 1e-6, 1.0]


def places(value, place=()):
    """List the way to every setting, at any depth."""
    items = value.items() if isinstance(value, dict) else enumerate(value)
    found = []
    for key, part in items:
        found.append((*place, key))
        if isinstance(part, dict | list):
            found += places(part, (*place, key))
    return found


def at(config, place):
    for key in place:
        config = config[key]
    return config


def delete(draw, config, parent, key):
    del parent[key]


def retype(draw, config, parent, key):
    parent[key] = deepcopy(draw(st.sampled_from(VALUES + NUMBERS)))


def rescale(draw, config, parent, key):
    number = isinstance(parent[key], int | float)
    parent[key] = parent[key] * draw(st.sampled_from(FACTORS)) if number else 0


def mistype(draw, config, parent, key):
    if isinstance(key, str):
        position = draw(st.integers(0, len(key) - 1))
        parent[key[:position] + "x" + key[position + 1 :]] = parent.pop(key)


def repeat(draw, config, parent, key):
    if isinstance(parent, list):
        parent.append(deepcopy(parent[key]))
    else:
        parent[f"{key}-2"] = deepcopy(parent[key])


def misplace(draw, config, parent, key):
    parent[key] = deepcopy(at(config, draw(st.sampled_from(places(config)))))


MISTAKES = [delete, retype, retype, rescale, mistype, repeat, misplace]


@st.composite
def mistaken(draw):
    """Shipped settings with one to three mistakes, and the top-level keys that have them."""
    config = deepcopy(VALID[draw(st.sampled_from(list(VALID)))])
    keys = set()
    for _ in range(draw(st.integers(1, 3))):
        if there := places(config):
            place = draw(st.sampled_from(there))
            mistake = draw(st.sampled_from(MISTAKES))
            mistake(draw, config, at(config, place[:-1]), place[-1])
            keys.add(str(place[0]))
    return config, keys


def jobs_of(name, stage):
    """Give the wildcards of a job of every experiment, sweep or part of a stage."""
    names = stage.sweeps if name == "bounds" else stage.settings
    given = {"feature_map": "fourier", "what": "timing", "m": "20", "block": "0"}
    given |= dict.fromkeys(["repeat", "shard"], "0")
    for own in names if name != "extensions" else ():
        for part in ("all", "repeat-0"):
            yield SimpleNamespace(experiment=own, sweep=own, part=part, **given)


def foresee(config):
    """Ask the plan for everything that the rules ask it for."""
    plan = Plan(config)
    assert plan.final_outputs()
    assert plan.largest_mem_mb() >= 0
    assert isinstance(plan.tables(), list)
    assert isinstance(plan.outcomes(), dict)
    for dataset in plan.data.names:
        assert plan.data.mem_mb(SimpleNamespace(dataset=dataset)) > 0
        for stage in plan.stages.values():
            assert stage.minutes_here(dataset, 2) >= 0
    for name, stage in plan.stages.items():
        for wildcards in jobs_of(name, stage):
            ask_all(stage, wildcards)
    for part in plan.extensions.settings:
        assert plan.extensions.mem_mb(part) > 0
        assert plan.extensions.minutes(part, 2) > 0


def ask_all(stage, wildcards):
    """Call every function of a job's wildcards, and of its threads, that a stage has."""
    timed = stage.name != "rpca" or any(
        Path(file).name == f"{wildcards.experiment}.times.csv" for file in stage.times()
    )
    for name, function in getmembers(stage, ismethod):
        parameters = list(signature(function).parameters)
        if parameters not in (["wildcards"], ["wildcards", "threads"]) or name.startswith("_"):
            continue
        if timed or not name.startswith("times_"):
            function(*(wildcards, 2)[: len(parameters)])


@hypothesis.settings(max_examples=300)
@given(mistaken())
def test_mistakes_are_named_or_do_no_harm(given_settings):
    config, keys = given_settings
    try:
        settings.check(config)
    except WorkflowError as error:
        first, *problems, last = str(error).splitlines()
        assert first == "The configuration has mistakes:"
        assert last == "Keys: config/README.md"
        text = "\n".join(problems)
        assert "the file: " in text or any(key in text for key in keys)
    else:
        foresee(config)


@pytest.mark.parametrize("name", VALID)
def test_shipped_settings_can_be_planned(name):
    config = deepcopy(VALID[name])
    settings.check(config)
    foresee(config)


MISTAKEN_NUMBERS = {
    "fraction": (2.0, "rcca.digits.repeats: 2.0 is not of type 'integer'"),
    "too many": (10**6, "rcca.digits.repeats: 1000000 is more than the 100000 that a run"),
    "no machine's": (10**400, "rcca.digits.repeats: about 2^1328 is more than"),
}


@pytest.mark.parametrize("case", MISTAKEN_NUMBERS)
def test_number_that_no_run_can_have_is_named(case):
    value, sentence = MISTAKEN_NUMBERS[case]
    config = deepcopy(VALID["test"])
    config["rcca"]["digits"]["repeats"] = value
    with pytest.raises(WorkflowError) as caught:
        settings.check(config)
    assert sentence in str(caught.value)


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_regularisers_are_finite(value):
    config = deepcopy(VALID["test"])
    config["rcca"]["digits"]["reg"] = value
    with pytest.raises(WorkflowError, match=f"rcca.digits.reg: {value} is not of type 'number'"):
        settings.check(config)


def test_seeds_may_be_long():
    config = deepcopy(VALID["test"]) | {"seed": 10**40}
    settings.check(config)
    foresee(config)
