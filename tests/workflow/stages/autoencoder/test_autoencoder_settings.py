"""Settings of stage autoencoder: its parts, and their memory and time."""

import pytest

from workflow.stages.autoencoder.settings import Autoencoder, Experiment

SWEEPS = {"d": [2, 4], "m": [10, 20]}


def experiment(**changes):
    settings = {"dataset": "digits", "title": "digits", "components": 5, "features": 20}
    return Experiment.model_validate(settings | changes)


def test_an_experiment_is_one_job_or_one_for_each_repeat_and_sweep():
    one, many = (experiment(repeats=2, sweeps=SWEEPS, jobs=jobs) for jobs in ("one", "many"))
    assert one.parts() == {"all": {"repeats": [0, 1], "sweeps": SWEEPS}}
    assert many.parts() == {
        "repeat-0": {"repeats": [0], "sweeps": {}},
        "repeat-1": {"repeats": [1], "sweeps": {}},
        "sweep-d": {"repeats": [], "sweeps": {"d": [2, 4]}},
        "sweep-m": {"repeats": [], "sweeps": {"m": [10, 20]}},
    }
    assert one.forecast(2) == pytest.approx(many.forecast(2))
    assert one.forecast(2) > experiment(repeats=2).forecast(2) > 0


def test_how_it_is_cut_into_jobs_is_no_setting_of_a_fit():
    one, other = experiment(), experiment(jobs="many", repeats=9, sweeps={"d": [2]}, title="other")
    assert one.job(seed=1) == other.job(seed=1)
    assert one.job()["search"]["regs"] == [10.0**exponent for exponent in range(-14, -2)]


def test_memory_and_minutes_of_cifar_at_the_papers_size():
    cifar = experiment(dataset="cifar10", components=40, features=2000, jobs="many")
    stage = Autoencoder({"one": cifar})
    assert 1000 < cifar.mem_mb() == stage.largest_mem_mb() < 4000
    alone, both = (cifar.part_minutes("repeat-0", threads) for threads in (1, 2))
    assert alone > both > 15
    assert 1 < stage.minutes("cifar10", 2) < 60
    assert stage.minutes("mnist", 2) == 0
