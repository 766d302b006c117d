"""What a run does when it is killed, when a job fails, and when a dataset is unavailable."""

import os
import re
import shlex
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import yaml

from projects import EXPERIMENT, TEST_SETTINGS, changed, wait_for
from workflow.data.catalogue import CATALOGUE

TOLERANCE = {"linear": 1e-7, "fourier": 1e-7, "nystroem": 1e-5}
MINE = ("--configfile", "mine.yaml")


def test_killed_run_continues_to_the_same_numbers(project, finished):
    fits = finished.directory.glob("results/test/rcca/*/*.sums.csv")
    sums = [str(file.relative_to(finished.directory)) for file in fits]
    assert len(sums) == 4
    command = [*sums, "--configfile=config/test.yaml"]
    run = project.start("-m", "workflow.run", *command)
    wait_for(lambda: list(project.directory.glob("results/test/rcca/*/*.sums.csv")), run)
    run.kill()
    run.communicate()

    assert "The last run was killed: continuing it" in project.ends(*command)
    for name in [*sums, *(each.replace("sums", "components") for each in sums)]:
        tolerance = TOLERANCE[Path(name).name.partition("-")[0]]
        found, expected = (pd.read_csv(each.file(name)) for each in (project, finished))
        pd.testing.assert_frame_equal(found, expected, rtol=tolerance, atol=tolerance)


def test_failed_job_shows_cause_log_and_command(project):
    x = np.random.default_rng(0).standard_normal((300, 4))
    x[7, 2] = np.nan
    project.write_own(x)
    screen = project.fails(*MINE)
    cause = "prepare failed: DataError: dataset 'mine', array 'x': nan at row 7, column 2"
    assert cause in screen
    log = project.file(re.search(r"log: +(\S+)", screen)[1])
    assert "Traceback" in log.read_text(encoding="utf-8")

    screen = project.fails(*MINE, "--retries", "2")
    assert screen.count(cause) == 1
    assert screen.count("prepare fails as it did before in this run; see") == 2

    command = shlex.split(re.search(r"this alone: (.+)", screen)[1])
    assert command[1:] == ["-m", "snakemake", "data/prepared/mine", *MINE]
    code, screen = project.run(*command[1:])
    assert code == 1
    assert cause in screen


@pytest.mark.skipif("RNCA_MIRROR" not in os.environ, reason="needs MNIST: set RNCA_MIRROR")
def test_unavailable_dataset_costs_nothing_else_and_is_tried_again(project):
    split = {"scheme": "random", "train": 500, "tune": 50, "test": 500}
    mnist = EXPERIMENT | {"split": split, "title": "MNIST", "dataset": "mnist"}
    rcca = {"own": EXPERIMENT, "mnist": mnist}
    project.write_own(rcca=rcca)
    screen = project.ends(*MINE)
    reason = "could not fetch train-images-idx3-ubyte.gz"
    assert f"Not run: MNIST: {reason}" in screen
    table = project.file("results/mine/tables/rcca.md")
    assert f"**MNIST**: not run, {reason}" in table.read_text(encoding="utf-8")
    assert table.read_text(encoding="utf-8").count("| RCCA, Fourier | 8 |") == 1

    assert project.planned(*MINE)["fetch"] == 1
    _, screen = project.run("-m", "workflow.cli", "publish", *MINE)
    assert "the commit of the results is unknown" in screen  # not that the run is not finished
    project.write_own(rcca=rcca, strict=True)
    assert f"fetch failed: FetchError: {reason}" in project.fails(*MINE)

    project.write_own(rcca=rcca)
    screen = project.ends(*MINE, RNCA_MIRROR=os.environ["RNCA_MIRROR"])
    assert "All that these settings ask for was run." in screen
    assert table.read_text(encoding="utf-8").count("| RCCA, Fourier | 8 |") == 2
    assert project.planned(*MINE) == {}


def test_run_whose_datasets_are_all_skipped_ends_well_and_says_so_in_every_stage(project):
    skip = [name for name, entry in CATALOGUE.items() if entry.source is None]
    settings = changed(TEST_SETTINGS | {"skip": skip}, "bounds", ...)
    extensions = {"discriminants": TEST_SETTINGS["extensions"]["discriminants"]}
    settings = yaml.safe_dump(settings | {"extensions": extensions})
    project.file("mine.yaml").write_text(settings, encoding="utf-8")
    project.ends(*MINE)
    for name in ("rcca", "rpca", "lupi", "autoencoder", "extensions_discriminants"):
        table = project.file(f"results/test/tables/{name}.md").read_text(encoding="utf-8")
        assert "**: not run, left out by `skip` in the settings" in table, name


def test_what_could_not_be_fetched_is_said_at_the_end_though_no_experiment_uses_it(project):
    project.write_own(prepare=["xrmb"], skip=["awa"])
    screen = project.ends("data", *MINE)
    table = project.file("results/mine/tables/data.md").read_text(encoding="utf-8")
    assert "| mine | mine | 300 | x 4, y 3, given_split 1 |" in table
    assert "| xrmb | unavailable: could not fetch xrmb.1;" in table
    assert "| awa | unavailable: left out by `skip`" in table
    assert table in screen
    log = project.file("results/mine/logs/data/xrmb.fetch.log").read_text(encoding="utf-8")
    assert re.search(r"https://raw.githubusercontent.com/\S+/xrmb.1: ConnectionRefusedError", log)
    assert "By hand: put it at data/cache/git-blob-" in log

    screen = project.ends("summary", *MINE)
    words = "Could not be fetched, and is tried again by the next run: xrmb: could not fetch xrmb.1"
    assert words in " ".join(screen.split())
    assert "All that these settings ask for was run." not in screen
