# What takes more than one stage, and what a run says at its end.


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
        "../../environment.yml"
    params:
        code=code_of("baselines_race.py"),
    script:
        "../scripts/baselines_race.py"


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
        "../../environment.yml"
    params:
        outcomes=plan.outcomes(),
        titles=plan.rcca.titles(),
        code=code_of("summary.py"),
    script:
        "../scripts/summary.py"
