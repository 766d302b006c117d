# Stage extensions: spectral clustering, discriminant analysis and the dependence coefficient.
extensions_shapes = plan.rows("extensions", "shapes")
extensions_clustering = plan.rows("extensions", "clustering")
extensions_discriminants = plan.rows("extensions", "discriminants")
extensions_dependence = plan.rows("extensions", "dependence")
extensions_tables = plan.report("extensions")


rule extensions_shapes:
    input:
        request=extensions_shapes.request,
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
        mem_mb=extensions_shapes.mem_mb,
        runtime=growing(60),
    script:
        "shapes.py"


rule extensions_clustering:
    input:
        request=extensions_clustering.request,
        data=extensions_clustering.data,
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
        mem_mb=extensions_clustering.mem_mb,
        runtime=growing(60),
    script:
        "clustering.py"


rule extensions_discriminants:
    input:
        request=extensions_discriminants.request,
        data=extensions_discriminants.data,
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
        mem_mb=extensions_discriminants.mem_mb,
        runtime=growing(60),
    script:
        "discriminants.py"


rule extensions_dependence:
    input:
        request=extensions_dependence.request,
    output:
        **extensions_dependence.outputs,
    log:
        extensions_dependence.log,
    benchmark:
        extensions_dependence.benchmark
    conda:
        "../../envs/rnca.yaml"
    resources:
        mem_mb=extensions_dependence.mem_mb,
        runtime=growing(60),
    script:
        "dependence.py"


rule extensions_report:
    input:
        **extensions_tables.inputs,
        request=extensions_tables.request,
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
