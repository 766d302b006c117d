# What the stages share: the checked settings, the plan made from them, and what is known only
# once the datasets have been fetched.
import json
import os
import shlex
import sys
from pathlib import Path

for own in (".", "src"):
    sys.path.insert(0, str(Path(workflow.basedir) / own))

# Snakemake writes this path into shell commands without quotes.
sys.executable = shlex.quote(sys.executable)

from workflow import settings
from workflow.lib.code_version import code_of
from workflow.plan import Plan, report as report_plan
from workflow.plan.data import FETCHED, PREPARED, record
from workflow.plan.resources import growing

settings.check(config)
plan = Plan(config)
RESULTS = plan.results

# For the command that runs a failed job alone; jobs inherit it.
if workflow.config_settings.configfiles:
    configfiles = map(os.path.relpath, workflow.config_settings.configfiles)
    os.environ.setdefault("RNCA_CONFIGFILES", shlex.join(configfiles))


def cannot_be_had(dataset):
    """Tell whether a dataset is missing; Snakemake asks again once it has tried to fetch it.

    A dry run asks nobody: it plans for what there will be if every dataset can be had.
    """
    if dataset in config["skip"]:
        return True
    if not plan.data.is_fetched(dataset) or workflow.dryrun:
        return False
    fetched = checkpoints.fetch.get(dataset=dataset).output[0]
    return json.loads(Path(fetched).read_text(encoding="utf-8"))["not_run"] is not None


def where_had(stage, files):
    """Make an input function that gives `files` if the experiment's dataset can be had."""

    def inputs(wildcards):
        return [] if cannot_be_had(stage.dataset(wildcards)) else files(wildcards)

    return inputs


def why_not_had(stage):
    """Make an input function that gives the record that says why a dataset could not be had."""

    def inputs(wildcards):
        dataset = stage.dataset(wildcards)
        failed = dataset not in config["skip"] and cannot_be_had(dataset)
        return [record(dataset)] if failed else []

    return inputs


def prepared_datasets(wildcards):
    """List the prepared form of every dataset that can be had."""
    return [f"{PREPARED}/{name}" for name in plan.data.names if not cannot_be_had(name)]
