# What takes all stages: gathered CSVs, the claims ledger, the report, a summary for the screen.
from workflow.data.catalogue import standing_in

SENTENCES = [f"{RESULTS}/{stage}/sentences.csv" for stage, found in plan.exhibits.items() if found]
OUTCOMES = [
    file for stage in stage_names() for file in plan.gathered(stage, *read_exhibits(stage).outcomes)
]
gather = plan.task(
    "{stage}/{what}.gather",
    "lib/outcomes.py",
    lambda w: {
        "datasets": plan.datasets(w.stage, w.what),
        "parts": plan.parts(w.stage, w.what),
        "skipped": settings.skip,
        "published": getattr(settings, w.stage).published(),
    },
)
claims = plan.task("claims", "lib/claims.py", {"parts": plan.all_shown()})
page = plan.task(
    "page",
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
                    each.file: {
                        key: getattr(each, key)
                        for key in ("label", "caption", "headline", "leading")
                    }
                    for each in found
                },
                "files": [each.file for each in read_exhibits(stage).exhibits],
            }
            for stage, found in plan.exhibits.items()
        ],
    },
)
summary = plan.task(
    "summary",
    "lib/summary.py",
    {
        "titles": {
            name: getattr(each, "titles", dict)() for name, each in settings.stages().items()
        },
        # As plain texts: Snakemake's files cannot be handed to a job.
        "parts": [*SENTENCES, *OUTCOMES, *map(str, rules.data_table.input.records)],
    },
)


# The CSVs of all experiments of a stage in one, or the reason why one was not run.
rule gather:
    input:
        request=gather.request,
        parts=lambda w: plan.made(w.stage, f"{w.what}.csv")(w),
        unavailable=lambda w: plan.failed_fetches(plan.datasets(w.stage, w.what).values()),
    output:
        f"{RESULTS}/{{stage}}/{{what}}.csv",
    log:
        gather.log,
    benchmark:
        gather.benchmark
    wildcard_constraints:
        stage="|".join(stage_names()),
        what="(?!sentences)[a-z_]+",
    group:
        "report"
    conda:
        "envs/rnca.yaml"
    script:
        "lib/outcomes.py"


rule claims:
    input:
        plan.all_shown(),
        request=claims.request,
        claims="resources/paper/claims.yaml",
    output:
        markdown=f"{RESULTS}/tables/claims.md",
        csv=f"{RESULTS}/tables/claims.csv",
        json=f"{RESULTS}/claims.json",
    log:
        claims.log,
    benchmark:
        claims.benchmark
    group:
        "report"
    conda:
        "envs/rnca.yaml"
    script:
        "lib/claims.py"


rule page:
    input:
        plan.all_shown(),
        request=page.request,
        claims="resources/paper/claims.yaml",
        ledger=rules.claims.output.csv,
        data=rules.data_table.output[0],
        theory="docs/theory.md",
        reproduce="docs/reproduce.md",
        sentences=SENTENCES,
        parts=expand("workflow/lib/page.{kind}", kind=["html.jinja", "css", "js"]),
    output:
        f"{RESULTS}/report.html",
    log:
        page.log,
    benchmark:
        page.benchmark
    group:
        "report"
    conda:
        "envs/rnca.yaml"
    script:
        "lib/page.py"


rule summary:
    input:
        request=summary.request,
        sentences=SENTENCES,
        outcomes=OUTCOMES,
        leaks=plan.gathered("rcca", "leaks"),
        records=rules.data_table.input.records,
        claims=rules.claims.output.markdown,
    output:
        f"{RESULTS}/summary.txt",
    log:
        summary.log,
    benchmark:
        summary.benchmark
    group:
        "report"
    conda:
        "envs/rnca.yaml"
    script:
        "lib/summary.py"


# For `snakemake rcca`, say: this stage alone.
for stage in stage_names():

    rule:
        name:
            stage
        input:
            plan.shown(stage),
