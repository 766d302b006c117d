# What takes all stages: the claims ledger, the report, a summary for the screen.
claims = plan.claims()
page = plan.page(config)
summary = plan.summary()


rule claims:
    input:
        **claims.inputs,
    output:
        **claims.outputs,
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
        **page.inputs,
    output:
        **page.outputs,
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
        **summary.inputs,
    output:
        **summary.outputs,
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
