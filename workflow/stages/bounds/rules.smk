# Stage bounds: the norms of Theorems 3 and 4 against n, m and γ, and the counterexample.
# A sweep's repeats are divided into blocks, so that a stopped run keeps those that are done.
bounds_sweep = plan.rows("bounds", "sweep")
bounds_theorem4 = plan.rows("bounds", "theorem4")
bounds_tables = plan.report("bounds")


rule bounds_sweep:
    input:
        **bounds_sweep.inputs,
    output:
        **bounds_sweep.outputs,
    log:
        bounds_sweep.log,
    benchmark:
        bounds_sweep.benchmark
    conda:
        "../../envs/rnca.yaml"
    resources:
        **bounds_sweep.resources,
    script:
        "fit.py"


rule bounds_theorem4:
    input:
        **bounds_theorem4.inputs,
    output:
        **bounds_theorem4.outputs,
    log:
        bounds_theorem4.log,
    benchmark:
        bounds_theorem4.benchmark
    conda:
        "../../envs/rnca.yaml"
    resources:
        **bounds_theorem4.resources,
    script:
        "theorem4.py"


rule bounds_report:
    input:
        **bounds_tables.inputs,
    output:
        **bounds_tables.outputs,
    log:
        bounds_tables.log,
    benchmark:
        bounds_tables.benchmark
    group:
        "report"
    conda:
        "../../envs/rnca.yaml"
    script:
        "report.py"
