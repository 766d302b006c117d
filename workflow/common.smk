# What all rules share: the checked settings, paths, requests, and which datasets are available.
# In .smk files write `from workflow.… import name`: `workflow` alone is Snakemake's own object here.
import os
import shlex
import sys
import time
from pathlib import Path

# This project's own code, before any other that is installed. Snakemake hands its search path on to
# jobs in conda environments, from which it takes PYTHONPATH away.
OWN = [str(Path(workflow.basedir).resolve()), str(Path(workflow.basedir, "src").resolve())]
sys.path[:0] = OWN
inherited = os.environ.get("PYTHONPATH", "").split(os.pathsep)
os.environ["PYTHONPATH"] = os.pathsep.join(dict.fromkeys([*OWN, *filter(None, inherited)]))

# Snakemake writes this path into shell commands without quotes.
sys.executable = shlex.quote(sys.executable)

from workflow.data.catalogue import CATALOGUE
from workflow.lib.exhibits import read_exhibits, stage_names
from workflow.lib.checks import CONTINUES, NothingDone, check_times, close
from workflow.lib.outcomes import unavailable_reason
from workflow.lib.requests import Request
from workflow.lib.resources import growing, machine_mb
from workflow.lib.settings import check
from workflow.lib.strict_yaml import load
from workflow.lib.terminal import take_over

STARTED = time.time()
# Jobs print to logs, where a progress bar is a line each time.
os.environ.setdefault("TQDM_MININTERVAL", "10")
if workflow.is_main_process:
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
RESULTS = f"results/{settings.run}"
PREPARED = "data/prepared"
FETCHED = "data/fetched"
# By stage, the tables and figures that this run makes.
EXHIBITS = {name: read_exhibits(name).of(each) for name, each in settings.stages().items()}
# By stage, a function from the name of a gathered CSV to its parts, by experiment.
PARTS = {}
# Stages and names of the CSVs that reports read.
GATHERED = set()

# For the command that runs a failed job alone; jobs inherit it.
os.environ["RNCA_PYTHON"] = sys.orig_argv[0]
if workflow.config_settings.configfiles:
    configfiles = map(os.path.relpath, workflow.config_settings.configfiles)
    os.environ.setdefault("RNCA_CONFIGFILES", shlex.join(configfiles))


def asks(script, job_settings, directory=f"{RESULTS}/requests"):
    """Make the request of a rule: `.file` is an input of its jobs, `.asked` a parameter."""
    return Request(script, job_settings, directory, lambda: workflow.dryrun)


def log_of(name):
    return f"{RESULTS}/logs/{name}.log"


def benchmark_of(name):
    return f"{RESULTS}/benchmarks/{name}.tsv"


def prepared(stage):
    """Make an input function that gives the prepared dataset of a job's experiment."""
    return lambda w: f"{PREPARED}/{stage[w.experiment].dataset}"


def record(dataset):
    """Return the file that says whether a dataset could be fetched."""
    return f"{FETCHED}/{dataset}.json"


def is_fetched(dataset):
    """Tell whether a dataset comes from elsewhere: neither embedded nor the user's own."""
    return dataset in CATALOGUE and CATALOGUE[dataset].source is not None


def is_unavailable(dataset):
    """Tell whether a dataset is missing; Snakemake asks again once it has tried to fetch it.

    A dry run plans for what there will be if every dataset can be fetched.
    """
    if dataset in settings.skip:
        return True
    if not is_fetched(dataset) or workflow.dryrun:
        return False
    return unavailable_reason(checkpoints.fetch.get(dataset=dataset).output[0]) is not None


def failed_fetches(datasets):
    """List the records that say why datasets could not be fetched."""
    wanted = [name for name in dict.fromkeys(datasets) if name not in settings.skip]
    return [record(name) for name in wanted if is_unavailable(name)]


def gathered(stage, *names):
    """List gathered CSVs of a stage, but for those that the run has no parts of."""
    found = [name for name in names if PARTS[stage](name)]
    GATHERED.update((stage, name) for name in found)
    return [f"{RESULTS}/{stage}/{name}.csv" for name in found]


def shown(stage):
    """List the tables and figures that this run makes of a stage."""
    return [f"{RESULTS}/{each.file}" for each in EXHIBITS[stage]]


def exhibits(stage, kind=""):
    """List the exhibits of a stage as outputs, for `snakemake --report` too, and its numbers.

    ``kind``, tables or figures, leaves out the others; the numbers are with the tables.
    """
    files = [f"{RESULTS}/{stage}/numbers.json"] if kind != "figures" else []
    for each in EXHIBITS[stage]:
        if not each.file.startswith(kind):
            continue
        told = {"category": read_exhibits(stage).title, "labels": {"exhibit": each.label}}
        path = f"{RESULTS}/{each.file}"
        files += [report(path, caption=caption_file(each), **told)]
        if path.endswith(".svg"):
            files += [path.removesuffix(".svg") + "-narrow.svg"]
    return files


def shows(stage, **job_settings):
    """Make the settings of a stage's report: what it shows, the parts it is made of, and others."""
    return lambda w: {
        "exhibits": [each._asdict() for each in EXHIBITS[stage]],
        "parts": {what: PARTS[stage](what) for of, what in sorted(GATHERED) if of == stage},
        **job_settings,
    }


def caption_file(exhibit):
    """Return a file with the caption, which is how `snakemake --report` wants it."""
    file = Path(".snakemake", "rnca-captions", f"{Path(exhibit.file).name}.rst").resolve()
    if not file.is_file() or file.read_text(encoding="utf-8") != exhibit.caption:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(exhibit.caption, encoding="utf-8")
    return str(file)
