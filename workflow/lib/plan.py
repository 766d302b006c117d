"""What the rules say of a run's jobs: their names, requests, inputs and outputs."""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from snakemake.io import report

from workflow.data.catalogue import CATALOGUE, parser_script, standing_in
from workflow.lib.exhibits import Exhibit, read_exhibits
from workflow.lib.jobs import Job
from workflow.lib.outcomes import unavailable_reason
from workflow.lib.requests import Request, code_version
from workflow.lib.resources import PROCESSES_MB, growing
from workflow.lib.settings import RunSettings

PREPARED, FETCHED = "data/prepared", "data/fetched"
# What the page is laid out and worded by.
_PAGE = ("page.html.jinja", "page.css", "page.js", "figures.css", "prose.yaml")
CLAIMS = "resources/paper/claims.yaml"
# What is known of the user's own files, so that large ones are not read at every start.
OWN_CHECKSUMS = Path(".snakemake", "rnca-checksums.json")


def record(dataset: str) -> str:
    """Return the file that says whether a dataset could be fetched."""
    return f"{FETCHED}/{dataset}.json"


class Task:
    """The names of a rule's jobs, which are ``name``, with wildcards; and what they are asked for.

    ``requests`` is where their requests are: below the run's own results, unless runs share them.
    """

    def __init__(
        self,
        plan: "Plan",
        name: str,
        script: str,
        settings: Mapping[str, Any] | Callable[[Any], Mapping[str, Any]],
        requests: str = "",
    ) -> None:
        self.script = script
        self.log = f"{plan.results}/logs/{name}.log"
        self.benchmark = f"{plan.results}/benchmarks/{name}.tsv"
        file = f"{requests or f'{plan.results}/requests'}/{name}.json"
        asked = Request(script, settings, file, plan.is_dry_run)
        self.request, self.asked = asked.file, asked.text


class Rows(Task):
    """What the rule of a kind of jobs says: the jobs are the rows of this kind in a list."""

    def __init__(self, plan: "Plan", stage: str, kind: str) -> None:
        found = [job for job in plan.jobs if (job.stage, job.kind) == (stage, kind)]
        self.jobs = {(job.experiment, job.stem): job for job in found}
        own = plan.stages[stage].kinds[kind]
        name = f"{stage}/{{experiment}}/{{stem}}.{kind}"
        super().__init__(plan, name, own.script, lambda w: self.job(w).settings)
        experiment, stem = (
            f"{{{key},{_one_of(getattr(job, key) for job in found)}}}"
            for key in ("experiment", "stem")
        )
        place = f"{plan.results}/{stage}/{experiment}/{stem}"
        self.outputs = {what.partition(".")[0]: f"{place}.{what}" for what in own.files()}
        self.inputs = {"request": self.request, "data": self._data}
        self.resources = {
            "mem_mb": growing(lambda w: self.job(w).mem_mb),
            "runtime": growing(own.minutes),
        }

    def job(self, wildcards: Any) -> Job:
        """Return the row of a job."""
        try:
            return self.jobs[wildcards.experiment, wildcards.stem]
        except KeyError:
            raise ValueError(
                f"{wildcards.experiment}/{wildcards.stem}: no such job in the settings; there are "
                + ", ".join(map("/".join, self.jobs))
            ) from None

    def _data(self, wildcards: Any) -> list[str] | str:
        """Return the prepared dataset of a job; nothing if it reads none."""
        dataset = self.job(wildcards).dataset
        return f"{PREPARED}/{dataset}" if dataset else []


class Report(Task):
    """What the rule of a job that renders says; there is one such job in a run."""

    def __init__(
        self,
        plan: "Plan",
        name: str,
        script: str,
        settings: Mapping[str, Any],
        inputs: Mapping[str, Any],
        outputs: Mapping[str, Any],
    ) -> None:
        super().__init__(plan, name, script, settings)
        self.rule, self.outputs = name.replace("/", "_"), outputs
        self.inputs = {"request": self.request, **inputs}


class Plan:
    """A run: its settings, where its results go, and the jobs, exhibits and CSVs of each stage.

    ``is_dry_run`` is asked when a job is planned, since Snakemake does not know of it before;
    ``fetch`` returns the record of a dataset once Snakemake has tried to fetch it; ``home`` is the
    directory of this project, relative to the run's.
    """

    def __init__(
        self,
        settings: RunSettings,
        is_dry_run: Callable[[], bool] = lambda: False,
        fetch: Callable[[str], str] = record,
        home: str = ".",
    ) -> None:
        self.home = home
        self.settings, self.is_dry_run, self.fetch = settings, is_dry_run, fetch
        self.results = f"results/{settings.run}"
        self.stages, self.jobs = settings.stages(), settings.jobs()
        # Asked for again, what could not be fetched is fetched again; read before any job runs.
        self.last_failures = {name: _last_failure(name) for name in CATALOGUE}
        self.exhibits = {stage: read_exhibits(stage).of(own) for stage, own in self.stages.items()}
        self.fetched = [record(name) for name in settings.used() if is_fetched(name)]

    def own(self, path: str) -> str:
        """Return a file of this project as the run sees it."""
        return os.path.normpath(os.path.join(self.home, path))

    def rows(self, stage: str, kind: str) -> Rows:
        """Return what the rule of a kind of jobs says."""
        return Rows(self, stage, kind)

    def task(self, *asked: Any) -> Task:
        """Return what a rule of datasets says, as `Task` does."""
        return Task(self, *asked)

    def report(self, stage: str) -> Report:
        """Return what the rule of a stage's report says."""
        own, gathered = self.stages[stage], self.gathered(stage)
        parts = [self.made(stage, Path(file).name) for file in gathered]
        datasets = {job.experiment: job.dataset or "" for job in self.of(stage)}
        settings = own.report() | {
            "exhibits": [each._asdict() for each in self.exhibits[stage]],
            "parts": {Path(file).stem: self.parts(file) for file in gathered},
            "datasets": datasets,
            "skipped": self.settings.skip,
        }
        inputs = {
            "parts": lambda w: [part for files in parts for part in files(w)],
            "unavailable": lambda _: self.failed_fetches(filter(None, datasets.values())),
            **{name: self.made(stage, what) for name, what in own.reads.items()},
            **{name: self.own(f"resources/paper/{file}") for name, file in own.paper.items()},
        }
        outputs = {"gathered": gathered, "shown": self._report_files(stage)}
        script = f"stages/{stage}/report.py"
        return Report(self, f"{stage}/report", script, settings, inputs, outputs)

    def claims(self) -> Report:
        """Return what the rule of the claims ledger says."""
        inputs = {"shown": self.all_shown(), "claims": self.own(CLAIMS)}
        outputs = {
            "markdown": f"{self.results}/tables/claims.md",
            "csv": f"{self.results}/tables/claims.csv",
            "json": f"{self.results}/claims.json",
        }
        return Report(self, "claims", "lib/claims.py", {"parts": self.all_shown()}, inputs, outputs)

    def page(self, config: Mapping[str, Any]) -> Report:
        """Return what the rule of the report says, which shows the run's settings as given."""
        keys = ("label", "caption")
        titles = self.stages["rcca"].report()["main_titles"].values()
        settings = {
            "run": self.settings.run,
            "title": " · ".join(titles) or "Canonical correlations",
            "config": config,
            "data": self.settings.used(),
            "stand_ins": standing_in(self.settings.used()),
            "sections": [
                {
                    "name": stage,
                    "title": read_exhibits(stage).title,
                    "exhibits": {
                        each.file: {key: getattr(each, key) for key in keys} for each in shown
                    },
                }
                for stage, shown in self.exhibits.items()
            ],
        }
        inputs = {
            "shown": self.all_shown(),
            "ledger": self.claims().outputs["json"],
            "data": f"{self.results}/tables/data.md",
            "theory": self.own("docs/theory.md"),
            "reproduce": self.own("docs/reproduce.md"),
            "numbers": self._numbers(),
            "parts": [self.own(f"workflow/lib/{name}") for name in _PAGE],
        }
        outputs = {"page": f"{self.results}/report.html"}
        return Report(self, "page", "lib/page.py", settings, inputs, outputs)

    def summary(self) -> Report:
        """Return what the rule of the summary for the screen says."""
        leaks = f"{self.results}/rcca/leaks.csv"
        inputs = {
            "numbers": self._numbers(),
            "prose": self.own("workflow/lib/prose.yaml"),
            "outcomes": [
                file
                for stage in self.stages
                for file in self.gathered(stage)
                if Path(file).stem in read_exhibits(stage).outcomes
            ],
            "leaks": [leaks] if leaks in self.gathered("rcca") else [],
            "records": self.fetched,
            "claims": self.claims().outputs["markdown"],
            "ledger": self.claims().outputs["json"],
        }
        titles = {name: own.titles() for name, own in self.stages.items()}
        settings, outputs = (
            {"titles": titles, "parts": inputs},
            {"text": f"{self.results}/summary.txt"},
        )
        return Report(self, "summary", "lib/summary.py", settings, inputs, outputs)

    def data_table(self) -> Report:
        """Return what the rule of the table of datasets says."""
        used = self.settings.used()
        inputs = {
            "records": self.fetched,
            "prepared": lambda _: [
                f"{PREPARED}/{name}" for name in used if not self.is_unavailable(name)
            ],
        }
        settings = {"skipped": self.settings.skip}
        outputs = {"table": f"{self.results}/tables/data.md"}
        return Report(self, "data/table", "data/table.py", settings, inputs, outputs)

    def requests(self, config: Mapping[str, Any]) -> Iterator[tuple[str, str, Job | None]]:
        """Yield each file of results of the run, what its job is now asked for, and the row.

        What needs an unavailable dataset is left out.
        """
        for job in self.jobs:
            if not (job.dataset and self.is_unavailable(job.dataset)):
                asked = self.rows(job.stage, job.kind).asked(job)
                for what in self.stages[job.stage].kinds[job.kind].files():
                    yield f"{self.results}/{job.place}.{what}", asked, job
        stages = [self.report(stage) for stage, shown in self.exhibits.items() if shown]
        others = [self.data_table(), self.claims(), self.page(config), self.summary()]
        for task in stages + others:
            for files in task.outputs.values():
                for file in [files] if isinstance(files, str) else files:
                    yield str(file), task.asked({}), None

    def of(self, stage: str) -> list[Job]:
        """List the jobs of a stage."""
        return [job for job in self.jobs if job.stage == stage]

    def gathered(self, stage: str) -> list[str]:
        """List the CSVs in which the stage's report gathers those of its jobs."""
        kinds, there = self.stages[stage].kinds, {job.kind for job in self.of(stage)}
        csvs = [what for kind, own in kinds.items() if kind in there for what in own.csvs]
        return [f"{self.results}/{stage}/{what}.csv" for what in csvs]

    def parts(self, gathered: str) -> dict[str, list[str]]:
        """List the files that a gathered CSV is made of, by experiment."""
        *_, stage, what = gathered.split("/")
        found: dict[str, list[str]] = {}
        for job in self.of(stage):
            if what in self.stages[stage].kinds[job.kind].files():
                found.setdefault(job.experiment, []).append(f"{self.results}/{job.place}.{what}")
        return found

    def made(self, stage: str, what: str) -> Callable[[Any], list[str]]:
        """Make an input function that lists files of a stage's jobs, whose names end in ``what``.

        What needs an unavailable dataset is left out.
        """
        datasets = {job.experiment: job.dataset for job in self.of(stage)}
        return lambda _: [
            part
            for name, parts in self.parts(f"{stage}/{what}").items()
            if not ((dataset := datasets[name]) and self.is_unavailable(dataset))
            for part in parts
        ]

    def all_parts(self, wildcards: Any) -> list[str]:
        """List the parts of all gathered CSVs: Snakemake makes what is missing only if asked."""
        inputs = [self.report(stage).inputs["parts"] for stage in self.stages]
        return [part for parts in inputs for part in parts(wildcards)]

    def shown(self, stage: str) -> list[str]:
        """List the tables and figures that this run makes of a stage."""
        return [f"{self.results}/{each.file}" for each in self.exhibits[stage]]

    def all_shown(self) -> list[str]:
        """List the tables and figures that this run makes."""
        return [file for stage in self.exhibits for file in self.shown(stage)]

    def _report_files(self, stage: str) -> list[Any]:
        """List what a stage's report writes; `snakemake --report` shows the exhibits."""
        own = read_exhibits(stage)
        files = [f"{self.results}/{stage}/numbers.json"]
        for each in self.exhibits[stage]:
            about = {"category": own.title, "labels": {"exhibit": each.label}}
            files += [report(f"{self.results}/{each.file}", caption=_caption_file(each), **about)]
            if each.file.endswith(".svg"):
                files += [f"{self.results}/{each.file.removesuffix('.svg')}-narrow.svg"]
        return files + [f"{self.results}/{file}" for file in own.further(self.stages[stage])]

    def _numbers(self) -> list[str]:
        stages = [stage for stage, shown in self.exhibits.items() if shown]
        return [f"{self.results}/{stage}/numbers.json" for stage in stages]

    def is_unavailable(self, dataset: str) -> bool:
        """Tell whether a dataset is missing; Snakemake asks again once it has tried to fetch it.

        A dry run plans for what there will be if every dataset can be fetched.
        """
        if dataset in self.settings.skip:
            return True
        if not is_fetched(dataset) or self.is_dry_run():
            return False
        return unavailable_reason(self.fetch(dataset)) is not None

    def fetch_settings(self, wildcards: Any) -> dict[str, Any]:
        """Return the settings of the job that fetches a dataset."""
        return {
            "last_failure": self.last_failures[wildcards.dataset],
            "note": _failure_note(wildcards.dataset),
            "files": _checksums(wildcards.dataset),
        }

    def prepare_settings(self, wildcards: Any) -> dict[str, Any]:
        """Return the settings of the job that prepares a dataset.

        Own files are no inputs of it: their times may lie in the future. Their checksums count.
        """
        name, own = wildcards.dataset, self.settings.datasets.get(wildcards.dataset)
        return {
            # The job imports it by name, so that other datasets do not depend on it.
            "parser": code_version(parser_script(name)),
            "entry": own and own.model_dump(mode="json", exclude_none=True),
            "files": _checksums(name),
            "own": own.checksums(OWN_CHECKSUMS) if own else {},
        }

    def prepare_mb(self, wildcards: Any) -> int:
        """Return the memory in which a dataset is prepared, in millions of bytes.

        Fetched data are there as read, as parsed, and once more where a type is converted.
        """
        own = self.settings.datasets.get(wildcards.dataset)
        size = own.mem_mb() if own else 3 * CATALOGUE[wildcards.dataset].prepared_mb
        return PROCESSES_MB + size

    def failed_fetches(self, datasets: Iterable[str]) -> list[str]:
        """List the records that say why datasets could not be fetched."""
        wanted = [name for name in dict.fromkeys(datasets) if name not in self.settings.skip]
        return [record(name) for name in wanted if self.is_unavailable(name)]


def is_fetched(dataset: str) -> bool:
    """Tell whether a dataset comes from elsewhere: neither embedded nor the user's own."""
    return dataset in CATALOGUE and CATALOGUE[dataset].source is not None


def _checksums(dataset: str) -> dict[str, str]:
    """Return the published checksums of a dataset's files, which no code holds."""
    source = CATALOGUE[dataset].source if dataset in CATALOGUE else None
    return {name: str(file.checksum) for name, file in source.files.items()} if source else {}


def _failure_note(dataset: str) -> str:
    return f"{FETCHED}/{dataset}.failure.txt"


def _last_failure(dataset: str) -> str:
    """Return when fetching a dataset last failed."""
    note = Path(_failure_note(dataset))
    return note.read_text(encoding="utf-8").partition("\n")[0] if note.is_file() else "never"


def _one_of(names: Iterable[str]) -> str:
    """Return the regular expression of some names; of none, one that nothing matches."""
    return "|".join(dict.fromkeys(names)) or "(?!)"


def _caption_file(exhibit: Exhibit) -> str:
    """Return a file with the caption, which is how `snakemake --report` wants it."""
    file = Path(".snakemake", "rnca-captions", f"{Path(exhibit.file).name}.rst").resolve()
    if not file.is_file() or file.read_text(encoding="utf-8") != exhibit.caption:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(exhibit.caption, encoding="utf-8")
    return str(file)
