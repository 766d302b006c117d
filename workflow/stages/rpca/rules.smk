# Stage rpca: RPCA against exact kernel PCA and linear PCA, RCCA against kernel CCA likewise.
rpca_fit = plan.rows("rpca", "fit")
rpca_times = plan.rows("rpca", "times")
rpca_tables = plan.report("rpca")


rule rpca_fit:
    input:
        request=rpca_fit.request,
        data=rpca_fit.data,
    output:
        **rpca_fit.outputs,
    log:
        rpca_fit.log,
    benchmark:
        rpca_fit.benchmark
    conda:
        "../../envs/rnca.yaml"
    threads: settings.threads
    resources:
        mem_mb=rpca_fit.mem_mb,
        runtime=growing(60),
    script:
        "fit.py"


# All cores, so that nothing runs beside it.
rule rpca_times:
    input:
        request=rpca_times.request,
        data=rpca_times.data,
    output:
        **rpca_times.outputs,
    log:
        rpca_times.log,
    benchmark:
        rpca_times.benchmark
    conda:
        "../../envs/rnca.yaml"
    threads: workflow.cores or settings.threads
    resources:
        mem_mb=rpca_times.mem_mb,
        runtime=growing(60),
    script:
        "times.py"


rule rpca_report:
    input:
        **rpca_tables.inputs,
        request=rpca_tables.request,
    output:
        **rpca_tables.outputs,
    log:
        rpca_tables.log,
    benchmark:
        rpca_tables.benchmark
    group:
        "report"
    conda:
        "../../envs/rnca.yaml"
    script:
        "report.py"
