# What all rules share: the checked settings, paths, requests, and which datasets are available.
# In .smk files write `from workflow.… import name`: `workflow` alone is Snakemake's own object here.
import os
import shlex
import sys
import time
from pathlib import Path

# This project, wherever Snakemake runs it: elsewhere with `--directory`, or as another's module.
if workflow.current_basedir.is_local:
    HERE = Path(workflow.current_basedir.get_path_or_uri(secret_free=True)).resolve().parent
else:  # deployed by `github(…)`: Snakemake has a clone, from which the files are checked out
    repository, ref = workflow.current_basedir.hosted_repo.repo, workflow.current_basedir.ref
    HERE = Path(".snakemake", "rnca", repository.commit(ref).hexsha).resolve()
    if not HERE.is_dir():
        repository.git.worktree("add", "--force", "--detach", HERE, ref)

# A config file on the command line stands alone; it does not extend the default one.
if not workflow.config_settings.configfiles:

    configfile: HERE / "config" / "config.yaml"


# With `--sdm apptainer` jobs run in this image, which Containerfile makes.
if os.getenv("RNCA_CONTAINER"):

    container: os.getenv("RNCA_CONTAINER")


# This project's own code, before any other that is installed. Snakemake hands its search path on to
# jobs in conda environments, from which it takes PYTHONPATH away.
OWN = [str(HERE), str(HERE / "src")]
sys.path[:0] = OWN
inherited = os.getenv("PYTHONPATH", "").split(os.pathsep)
os.environ.update(PYTHONPATH=os.pathsep.join(dict.fromkeys([*OWN, *filter(None, inherited)])))

# Snakemake writes this path into shell commands without quotes.
sys.executable = shlex.quote(sys.executable)

from workflow.lib.exhibits import read_exhibits, stage_names
from workflow.lib.checks import CONTINUES, NothingDone, check_times, close
from workflow.lib.plan import FETCHED, PREPARED, Plan, is_fetched, record
from workflow.lib.resources import growing, machine_mb
from workflow.lib.settings import check
from workflow.lib.strict_yaml import load
from workflow.lib.terminal import take_over

STARTED = time.time()
# Jobs print to logs, where a progress bar is a line each time.
os.environ.setdefault("TQDM_MININTERVAL", "10")
if workflow.is_main_process:
    # On a cluster a job sees all cores of its node, and is told here which it may use.
    os.environ.update(RNCA_CORES=str(workflow.cores or ""), RNCA_STARTED=str(STARTED))
    check_times()
    take_over(logger, stage_names(), lambda: workflow.dryrun)
    logger.addHandler(
        NothingDone(lambda: workflow.dryrun or close(workflow.dag_settings, RESULTS, STARTED))
    )
    # Jobs that together need more memory than the machine has do not run at once.
    if not workflow.resource_settings.nodes:
        workflow.resource_settings.resources.setdefault("mem_mb", machine_mb())
for file in workflow.configfiles:
    load(Path(file))
settings = check(config)
plan = Plan(
    settings,
    lambda: workflow.dryrun,
    lambda name: checkpoints.fetch.get(dataset=name).output[0],
    os.path.relpath(HERE),
)
RESULTS = plan.results
CORES = int(os.getenv("RNCA_CORES") or settings.threads)

# For the command that runs a failed job alone; jobs inherit it.
os.environ.update(RNCA_PYTHON=sys.orig_argv[0])
if workflow.config_settings.configfiles:
    configfiles = map(os.path.relpath, workflow.config_settings.configfiles)
    os.environ.setdefault("RNCA_CONFIGFILES", shlex.join(configfiles))
