# What a run says at its end.


rule summary:
    input:
        tables=plan.tables(),
        outcomes=list(plan.outcomes()),
        leaks=plan.rcca.leaks_table(),
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
