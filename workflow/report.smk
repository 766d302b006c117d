# What takes all stages: the claims ledger, the report, a summary for the screen.
claims = plan.task("claims", "lib/claims.py", {"parts": plan.all_shown()})
page = plan.task("page", "lib/page.py", plan.page_settings(config))
summary = plan.task("summary", "lib/summary.py", plan.summary_settings())


rule claims:
    input:
        request=claims.request,
        shown=plan.all_shown(),
        claims="resources/paper/claims.yaml",
    output:
        **plan.ledger(),
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
        **plan.page_inputs(),
        request=page.request,
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
        **plan.summary_inputs(),
        request=summary.request,
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
