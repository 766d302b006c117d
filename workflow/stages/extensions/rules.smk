# Stage extensions: spectral clustering, discriminant analysis and the dependence coefficient.
extensions_shapes = plan.rows("extensions", "shapes")
extensions_clustering = plan.rows("extensions", "clustering")
extensions_discriminants = plan.rows("extensions", "discriminants")
extensions_dependence = plan.rows("extensions", "dependence")
extensions_tables = plan.report("extensions")


rule extensions_shapes:
    input:
        **extensions_shapes.inputs,
    output:
        **extensions_shapes.outputs,
    log:
        extensions_shapes.log,
    benchmark:
        extensions_shapes.benchmark
    conda:
        "../../envs/rnca.yaml"
    threads: settings.threads
    resources:
        **extensions_shapes.resources,
    script:
        "shapes.py"


rule extensions_clustering:
    input:
        **extensions_clustering.inputs,
    output:
        **extensions_clustering.outputs,
    log:
        extensions_clustering.log,
    benchmark:
        extensions_clustering.benchmark
    conda:
        "../../envs/rnca.yaml"
    threads: settings.threads
    resources:
        **extensions_clustering.resources,
    script:
        "clustering.py"


rule extensions_discriminants:
    input:
        **extensions_discriminants.inputs,
    output:
        **extensions_discriminants.outputs,
    log:
        extensions_discriminants.log,
    benchmark:
        extensions_discriminants.benchmark
    conda:
        "../../envs/rnca.yaml"
    threads: settings.threads
    resources:
        **extensions_discriminants.resources,
    script:
        "discriminants.py"


rule extensions_dependence:
    input:
        **extensions_dependence.inputs,
    output:
        **extensions_dependence.outputs,
    log:
        extensions_dependence.log,
    benchmark:
        extensions_dependence.benchmark
    conda:
        "../../envs/rnca.yaml"
    resources:
        **extensions_dependence.resources,
    script:
        "dependence.py"


rule extensions_report:
    input:
        **extensions_tables.inputs,
    output:
        **extensions_tables.outputs,
    log:
        extensions_tables.log,
    benchmark:
        extensions_tables.benchmark
    group:
        "report"
    conda:
        "../../envs/rnca.yaml"
    script:
        "report.py"
