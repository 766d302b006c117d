# Datasets: each, embedded, fetched or the user's own, in one memory-mappable form.
# They are shared by all runs, and so are the requests for them.
data_fetch = plan.task(
    "data/{dataset}.fetch", "data/fetch.py", plan.fetch_settings, "data/requests"
)
data_prepare = plan.task(
    "data/{dataset}.prepare", "data/catalogue.py", plan.prepare_settings, "data/requests"
)
data_list = plan.data_table()


# If a dataset cannot be fetched, the reason is recorded and the rest of the run goes on.
checkpoint fetch:
    input:
        request=data_fetch.request,
    output:
        f"{FETCHED}/{{dataset}}.json",
    log:
        data_fetch.log,
    benchmark:
        data_fetch.benchmark
    localrule: True
    conda:
        "../envs/data.yaml"
    script:
        "fetch.py"


rule prepare:
    input:
        request=data_prepare.request,
        record=lambda w: ancient([record(w.dataset)] if is_fetched(w.dataset) else []),
    output:
        directory(f"{PREPARED}/{{dataset}}"),
    log:
        data_prepare.log,
    benchmark:
        data_prepare.benchmark
    conda:
        "../envs/data.yaml"
    resources:
        mem_mb=growing(plan.prepare_mb),
        runtime=growing(60),
    script:
        "catalogue.py"


rule data_table:
    input:
        **data_list.inputs,
    output:
        **data_list.outputs,
    log:
        data_list.log,
    benchmark:
        data_list.benchmark
    group:
        "report"
    conda:
        "../envs/rnca.yaml"
    script:
        "table.py"


# For `snakemake data`: every dataset the settings ask for, and nothing else.
rule data:
    input:
        rules.data_table.input.records,
        rules.data_table.output,
