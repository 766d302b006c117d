# What a run says at its end: the claims ledger, the report, and a summary for the screen.


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
        "../../environment.yml"
    params:
        results=RESULTS,
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
        "../../environment.yml"
    params:
        results=RESULTS,
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
        "../../environment.yml"
    params:
        outcomes=plan.outcomes(),
        titles=plan.rcca.titles(),
        code=code_of("summary.py"),
    script:
        "../scripts/summary.py"
