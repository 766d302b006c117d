# Stage lupi: learning with privileged information (Section 5.3).
# Partitions are divided into jobs, each of which keeps its own result.
lupi_fit = plan.rows("lupi", "fit")
lupi_tables = plan.report("lupi")


rule lupi_fit:
    input:
        **lupi_fit.inputs,
    output:
        **lupi_fit.outputs,
    log:
        lupi_fit.log,
    benchmark:
        lupi_fit.benchmark
    conda:
        "../../envs/rnca.yaml"
    resources:
        **lupi_fit.resources,
    script:
        "fit.py"


rule lupi_report:
    input:
        **lupi_tables.inputs,
    output:
        **lupi_tables.outputs,
    log:
        lupi_tables.log,
    benchmark:
        lupi_tables.benchmark
    group:
        "report"
    conda:
        "../../envs/rnca.yaml"
    script:
        "report.py"
