# What a run says at its end.


rule summary:
    input:
        tables=[f"{RESULTS}/tables/rcca.md"],
    output:
        f"{RESULTS}/summary.txt",
    log:
        f"{RESULTS}/logs/summary.log",
    conda:
        "../../environment.yml"
    params:
        not_run={},
        code=code_version("summary.py"),
    script:
        "../scripts/summary.py"
