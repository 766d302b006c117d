# Stage data: each dataset, embedded, fetched or the user's own, in one memory-mappable form.


# A dataset that no source yields does not cost the user the rest: what becomes of it is recorded.
# Its code is no parameter, since files are accepted by their checksum, whatever fetched them.
checkpoint fetch:
    output:
        f"{FETCHED}/{{dataset}}.json",
    log:
        f"{RESULTS}/logs/fetch/{{dataset}}.log",
    benchmark:
        f"{RESULTS}/benchmarks/fetch/{{dataset}}.tsv"
    localrule: True
    conda:
        "../envs/rnca.yaml"
    params:
        checksums=plan.data.checksums,
        last_failure=plan.data.last_failure,
        note=plan.data.failure_note,
    script:
        "../scripts/fetch.py"


rule prepare:
    input:
        record=ancient(plan.data.record),
        own=plan.data.own_files,
    output:
        directory(f"{PREPARED}/{{dataset}}"),
    log:
        f"{RESULTS}/logs/prepare/{{dataset}}.log",
    benchmark:
        f"{RESULTS}/benchmarks/prepare/{{dataset}}.tsv"
    conda:
        "../envs/rnca.yaml"
    resources:
        mem_mb=growing(plan.data.mem_mb),
        runtime=growing(plan.data.minutes),
    params:
        entry=plan.data.own_entry,
        checksums=plan.data.checksums,
        code=code_of("prepare.py"),
    script:
        "../scripts/prepare.py"


rule data_table:
    input:
        records=plan.data.all_records(),
        prepared=prepared_datasets,
    output:
        markdown=report(
            f"{RESULTS}/tables/data.md",
            caption="../report/data_table.rst",
            category="Data",
            labels={"what": "table"},
        ),
    log:
        f"{RESULTS}/logs/data_table.log",
    benchmark:
        f"{RESULTS}/benchmarks/data_table.tsv"
    conda:
        "../envs/rnca.yaml"
    params:
        skipped=config["skip"],
        code=code_of("data_table.py"),
    script:
        "../scripts/data_table.py"


# For `snakemake data`: every dataset the settings ask for, and nothing else.
rule data:
    input:
        plan.data.all_records(),
        rules.data_table.output,
