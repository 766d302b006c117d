# What takes all stages: gathered CSVs, the claims ledger, the report, a summary for the screen.
from workflow.data.catalogue import standing_in

SHOWN = [file for stage in EXHIBITS for file in shown(stage)]
NUMBERS = [f"{RESULTS}/{stage}/numbers.json" for stage, found in EXHIBITS.items() if found]
OUTCOMES = [
    file for stage in stage_names() for file in gathered(stage, *read_exhibits(stage).outcomes)
]


def experiments(stage, what):
    """Return the dataset of each experiment that has parts of a gathered CSV."""
    datasets = getattr(settings, stage).datasets()
    return {name: datasets.get(name, "") for name in PARTS[stage](what)}


def available_parts(stage, what):
    datasets, parts = experiments(stage, what), PARTS[stage](what)
    return [part for name in parts if not is_unavailable(datasets[name]) for part in parts[name]]


def all_parts(w):
    """List the parts of all gathered CSVs: Snakemake makes what is missing only if it is asked for."""
    return [part for stage, what in sorted(GATHERED) for part in available_parts(stage, what)]


gather_request = asks(
    "lib/outcomes.py",
    lambda w: {
        "datasets": experiments(w.stage, w.what),
        "parts": PARTS[w.stage](w.what),
        "skipped": settings.skip,
        "published": getattr(settings, w.stage).published(),
    },
)
claims_request = asks("lib/claims.py", {"parts": SHOWN})
page_request = asks(
    "lib/page.py",
    {
        "run": settings.run,
        "title": " · ".join(settings.rcca.main_titles().values()) or "Canonical correlations",
        "config": config,
        "data": settings.used(),
        "stand_ins": standing_in(settings.used()),
        "sections": [
            {
                "name": stage,
                "title": read_exhibits(stage).title,
                "exhibits": {
                    each.file: {"label": each.label, "caption": each.caption} for each in found
                },
            }
            for stage, found in EXHIBITS.items()
        ],
    },
)
summary_request = asks(
    "lib/summary.py",
    {
        "titles": {
            name: getattr(each, "titles", dict)() for name, each in settings.stages().items()
        },
        # As plain texts: Snakemake's files cannot be handed to a job.
        "parts": [*NUMBERS, *OUTCOMES, *map(str, rules.data_table.input.records)],
    },
)


# The CSVs of all experiments of a stage in one, or the reason why one was not run.
rule gather:
    input:
        request=gather_request.file,
        parts=lambda w: available_parts(w.stage, w.what),
        unavailable=lambda w: failed_fetches(experiments(w.stage, w.what).values()),
    output:
        f"{RESULTS}/{{stage}}/{{what}}.csv",
    log:
        log_of("gather/{stage}/{what}"),
    benchmark:
        benchmark_of("gather/{stage}/{what}")
    wildcard_constraints:
        stage="|".join(PARTS),
        what="[a-z_]+",
    group:
        "report"
    conda:
        "envs/rnca.yaml"
    params:
        request=gather_request.asked,
    script:
        "lib/outcomes.py"


rule claims:
    input:
        SHOWN,
        request=claims_request.file,
        claims="resources/paper/claims.yaml",
    output:
        markdown=f"{RESULTS}/tables/claims.md",
        csv=f"{RESULTS}/tables/claims.csv",
        json=f"{RESULTS}/claims.json",
    log:
        log_of("claims"),
    benchmark:
        benchmark_of("claims")
    group:
        "report"
    conda:
        "envs/rnca.yaml"
    params:
        request=claims_request.asked,
    script:
        "lib/claims.py"


rule page:
    input:
        SHOWN,
        request=page_request.file,
        ledger=rules.claims.output.json,
        data=rules.data_table.output[0],
        theory="docs/theory.md",
        reproduce="docs/reproduce.md",
        numbers=NUMBERS,
        parts=expand("workflow/lib/page.{kind}", kind=["html.jinja", "css", "js"]),
        shared=expand("workflow/lib/{name}", name=["figures.css", "prose.yaml"]),
    output:
        f"{RESULTS}/report.html",
    log:
        log_of("page"),
    benchmark:
        benchmark_of("page")
    group:
        "report"
    conda:
        "envs/rnca.yaml"
    params:
        request=page_request.asked,
    script:
        "lib/page.py"


rule summary:
    input:
        request=summary_request.file,
        numbers=NUMBERS,
        outcomes=OUTCOMES,
        leaks=gathered("rcca", "leaks"),
        records=rules.data_table.input.records,
        prose="workflow/lib/prose.yaml",
        claims=rules.claims.output.markdown,
        ledger=rules.claims.output.json,
    output:
        f"{RESULTS}/summary.txt",
    log:
        log_of("summary"),
    benchmark:
        benchmark_of("summary")
    group:
        "report"
    conda:
        "envs/rnca.yaml"
    params:
        request=summary_request.asked,
    script:
        "lib/summary.py"
