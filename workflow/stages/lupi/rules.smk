# Stage lupi: learning with privileged information (Section 5.3).
# Partitions are divided into jobs, each of which keeps its own result.
lupi_fit = plan.rows("lupi", "fit")
lupi_tables = plan.report("lupi")


rule lupi_fit:
    input:
        request=lupi_fit.request,
        data=lupi_fit.data,
    output:
        **lupi_fit.outputs,
    log:
        lupi_fit.log,
    benchmark:
        lupi_fit.benchmark
    conda:
        "../../envs/rnca.yaml"
    resources:
        mem_mb=lupi_fit.mem_mb,
        runtime=growing(240),
    script:
        "fit.py"


rule lupi_report:
    input:
        **lupi_tables.inputs,
        request=lupi_tables.request,
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
