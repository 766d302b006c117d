# What takes more than one stage: a race, the claims ledger, the report, a summary for the screen.


rule baselines_race:
    input:
        curve=plan.baselines.gathered("curve"),
        rcca=f"{RESULTS}/tables/rcca.csv",
    output:
        f"{RESULTS}/tables/baselines_race.csv",
    log:
        f"{RESULTS}/logs/baselines_race.log",
    benchmark:
        f"{RESULTS}/benchmarks/baselines_race.tsv"
    conda:
        "../envs/rnca.yaml"
    params:
        code=code_of("baselines_race.py"),
    script:
        "../scripts/baselines_race.py"


rule claims:
    input:
        plan.shown(),
        claims="resources/paper/claims.yaml",
    output:
        markdown=report(
            f"{RESULTS}/tables/claims.md",
            caption="../report/claims_table.rst",
            category="Claims",
            labels={"what": "ledger"},
        ),
        csv=f"{RESULTS}/tables/claims.csv",
    log:
        f"{RESULTS}/logs/claims.log",
    benchmark:
        f"{RESULTS}/benchmarks/claims.tsv"
    conda:
        "../envs/rnca.yaml"
    params:
        standing_in=report_plan.standing_in(plan.data.names),
        code=code_of("claims.py"),
    script:
        "../scripts/claims.py"


rule page:
    input:
        plan.shown(),
        claims="resources/paper/claims.yaml",
        ledger=rules.claims.output.markdown,
        data=rules.data_table.output.markdown,
        theory="docs/theory.md",
    output:
        f"{RESULTS}/report.html",
    log:
        f"{RESULTS}/logs/page.log",
    benchmark:
        f"{RESULTS}/benchmarks/page.tsv"
    conda:
        "../envs/rnca.yaml"
    params:
        sections=report_plan.sections(plan.stages),
        data_caption=report_plan.caption("data.md"),
        standing_in=report_plan.standing_in(plan.data.names),
        code=code_of("page.py"),
    script:
        "../scripts/page.py"


rule summary:
    input:
        tables=plan.tables(),
        outcomes=list(plan.outcomes()),
        leaks=plan.rcca.leaks_table(),
        claims=rules.claims.output.markdown,
    output:
        f"{RESULTS}/summary.txt",
    log:
        f"{RESULTS}/logs/summary.log",
    benchmark:
        f"{RESULTS}/benchmarks/summary.tsv"
    conda:
        "../envs/rnca.yaml"
    params:
        outcomes=plan.outcomes(),
        titles=plan.rcca.titles(),
        code=code_of("summary.py"),
    script:
        "../scripts/summary.py"
