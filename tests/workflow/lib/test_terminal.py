"""What the screen shows while jobs run."""

import io
import logging

import pytest
from snakemake_interface_logger_plugins.common import LogEvent

from workflow.lib.terminal import take_over


@pytest.fixture(params=[False, True], ids=["file", "terminal"])
def stream(request):
    stream = io.StringIO()
    stream.isatty = lambda: request.param
    return stream


def make_logger(stream):
    """Return a logger as Snakemake's."""
    logger = logging.Logger("snakemake")
    handler = logging.StreamHandler(stream)
    handler.name = "DefaultStreamHandler"
    logger.addHandler(handler)
    return logger


@pytest.fixture
def snakemake(stream):
    """Return a function that logs as Snakemake does, in a workflow of stages rcca and lupi."""
    logger = make_logger(stream)
    logger.is_dry_run = False
    take_over(logger, ["lupi", "rcca"], lambda: logger.is_dry_run)

    def log(message="", level=logging.INFO, event=None, **more):
        logger.log(level, message, extra={"event": event, **more})

    log.logger = logger
    yield log
    for each in logger.handlers:
        each.close()


def start(log, job, rule, **wildcards):
    log(event=LogEvent.JOB_INFO, jobid=job, rule_name=rule, wildcards=wildcards)


def test_targets_are_no_jobs_and_what_a_checkpoint_adds_are(snakemake, stream):
    snakemake(event=LogEvent.RUN_INFO, stats={"page": 1, "all": 1, "rcca": 1, "total": 3})
    for job, rule in enumerate(("page", "lupi_fit", "rcca", "all")):
        start(snakemake, job, rule)
        snakemake(event=LogEvent.JOB_FINISHED, job_id=job)
    assert "✓ report           1/1" in stream.getvalue()
    assert "✓ lupi             1/1" in stream.getvalue()
    assert "2/2" not in stream.getvalue()
    assert "rcca" not in stream.getvalue()


def test_a_stage_has_one_line_and_it_comes_when_all_its_jobs_are_done(snakemake, stream):
    snakemake(event=LogEvent.RUN_INFO, stats={"rcca_fit": 2, "fetch": 1, "all": 1, "total": 4})
    for job in (1, 2):
        start(snakemake, job, "rcca_fit", experiment="mnist")
    snakemake("Finished jobid: 1", event=LogEvent.JOB_FINISHED, job_id=1)
    before = stream.getvalue()
    snakemake("Finished jobid: 2", event=LogEvent.JOB_FINISHED, job_id=2)
    assert "Finished" not in stream.getvalue()
    assert "✓ rcca" not in before
    assert "✓ rcca             2/2      0:00\n" in stream.getvalue()
    if stream.isatty():
        assert "rcca             1/2      0:00  fit mnist\n" in before
    else:
        assert before == ""


def test_errors_and_warnings_are_seen_as_they_are(snakemake, stream):
    snakemake(event=LogEvent.RUN_INFO, stats={"lupi_fit": 1, "total": 1})
    start(snakemake, 1, "lupi_fit")
    snakemake("lupi_fit: no memory", logging.ERROR, event=LogEvent.JOB_ERROR, jobid=1)
    snakemake("the disk is nearly full", logging.WARNING)
    assert "lupi_fit: no memory\n" in stream.getvalue()
    assert "the disk is nearly full\n" in stream.getvalue()
    assert "✗ lupi             0/1      0:00, 1 failed\n" in stream.getvalue()


def test_dry_runs_and_verbose_runs_are_snakemakes_own(snakemake, stream, monkeypatch):
    snakemake.logger.is_dry_run = True
    snakemake("would run", event=LogEvent.JOB_INFO, jobid=1, rule_name="fetch", wildcards={})
    assert stream.getvalue() == "would run\n"
    monkeypatch.setenv("VERBOSE", "1")
    other = make_logger(stream)
    kept = [*other.handlers]
    take_over(other, [], bool)
    assert other.handlers == kept
