# Stage rpca: RPCA against exact kernel PCA and linear PCA, RCCA against kernel CCA likewise.
rpca_fit = plan.rows("rpca", "fit")
rpca_times = plan.rows("rpca", "times")
rpca_evaluation = plan.rows("rpca", "evaluation")
rpca_tables = plan.report("rpca")


rule rpca_fit:
    input:
        **rpca_fit.inputs,
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
        **rpca_fit.resources,
    script:
        "fit.py"


# All cores, so that nothing runs beside it.
rule rpca_times:
    input:
        **rpca_times.inputs,
    output:
        **rpca_times.outputs,
    log:
        rpca_times.log,
    benchmark:
        rpca_times.benchmark
    conda:
        "../../envs/rnca.yaml"
    threads: CORES
    resources:
        **rpca_times.resources,
    script:
        "times.py"


rule rpca_evaluation:
    input:
        **rpca_evaluation.inputs,
    output:
        **rpca_evaluation.outputs,
    log:
        rpca_evaluation.log,
    benchmark:
        rpca_evaluation.benchmark
    conda:
        "../../envs/rnca.yaml"
    threads: workflow.cores or settings.threads
    resources:
        **rpca_evaluation.resources,
    script:
        "evaluation.py"


rule rpca_report:
    input:
        **rpca_tables.inputs,
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
