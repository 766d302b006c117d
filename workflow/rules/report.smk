# What a run says at its end.


rule summary:
    input:
        tables=[f"{RESULTS}/tables/rcca.md"],
        outcomes=plan.rcca_gathered("sums"),
        leaks=f"{RESULTS}/tables/leaks.csv",
    output:
        f"{RESULTS}/summary.txt",
    log:
        f"{RESULTS}/logs/summary.log",
    benchmark:
        f"{RESULTS}/benchmarks/summary.tsv"
    conda:
        "../../environment.yml"
    params:
        titles=plan.rcca_titles(),
        code=code_of("summary.py"),
    script:
        "../scripts/summary.py"
