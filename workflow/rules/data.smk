# Stage data: each dataset, embedded or fetched, in one memory-mappable form.


rule prepare:
    output:
        directory(f"{PREPARED}/{{dataset}}"),
    log:
        f"{RESULTS}/logs/prepare/{{dataset}}.log",
    benchmark:
        f"{RESULTS}/benchmarks/prepare/{{dataset}}.tsv"
    conda:
        "../../environment.yml"
    params:
        code=code_version("prepare.py"),
    script:
        "../scripts/prepare.py"
