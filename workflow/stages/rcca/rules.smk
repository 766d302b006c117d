# Stage rcca: test correlation against the number of features (Table 1), and what it is compared with.
# A fit is accumulate (in shards, if asked for) -> merge and solve.
rcca_fit = plan.rows("rcca", "fit")
rcca_shard = plan.rows("rcca", "shard")
rcca_cv = plan.rows("rcca", "cv")
rcca_grid = plan.rows("rcca", "grid")
rcca_linear = plan.rows("rcca", "linear")
rcca_model = plan.rows("rcca", "model")
rcca_timing = plan.rows("rcca", "timing")
rcca_svd = plan.rows("rcca", "svd")
rcca_leaks = plan.rows("rcca", "leaks")
rcca_deep = plan.rows("rcca", "deep")
rcca_kcca = plan.rows("rcca", "kcca")
rcca_tables = plan.report("rcca")


rule rcca_fit:
    input:
        request=rcca_fit.request,
        data=rcca_fit.data,
        shards=lambda w: [
            f"{RESULTS}/rcca/{w.experiment}/{stem}.shard.npz"
            for stem in settings.rcca[w.experiment].shard_stems(w.stem)
        ],
    output:
        **rcca_fit.outputs,
    log:
        rcca_fit.log,
    benchmark:
        rcca_fit.benchmark
    conda:
        "../../envs/rnca.yaml"
    threads: settings.threads
    resources:
        mem_mb=rcca_fit.mem_mb,
        runtime=growing(120),
    script:
        "fit.py"


rule rcca_shard:
    input:
        request=rcca_shard.request,
        data=rcca_shard.data,
    output:
        temp(rcca_shard.outputs["shard"]),
    log:
        rcca_shard.log,
    benchmark:
        rcca_shard.benchmark
    conda:
        "../../envs/rnca.yaml"
    threads: settings.threads
    resources:
        mem_mb=rcca_shard.mem_mb,
        runtime=growing(120),
    script:
        "fit.py"


rule rcca_cv:
    input:
        request=rcca_cv.request,
        data=rcca_cv.data,
    output:
        **rcca_cv.outputs,
    log:
        rcca_cv.log,
    benchmark:
        rcca_cv.benchmark
    conda:
        "../../envs/rnca.yaml"
    threads: settings.threads
    resources:
        mem_mb=rcca_cv.mem_mb,
        runtime=growing(60),
    script:
        "cv.py"


rule rcca_grid:
    input:
        request=rcca_grid.request,
        data=rcca_grid.data,
    output:
        **rcca_grid.outputs,
    log:
        rcca_grid.log,
    benchmark:
        rcca_grid.benchmark
    conda:
        "../../envs/rnca.yaml"
    threads: settings.threads
    resources:
        mem_mb=rcca_grid.mem_mb,
        runtime=growing(120),
    script:
        "grid.py"


rule rcca_linear:
    input:
        request=rcca_linear.request,
        data=rcca_linear.data,
    output:
        **rcca_linear.outputs,
    log:
        rcca_linear.log,
    benchmark:
        rcca_linear.benchmark
    conda:
        "../../envs/rnca.yaml"
    threads: settings.threads
    resources:
        mem_mb=rcca_linear.mem_mb,
        runtime=growing(60),
    script:
        "grid.py"


# On the rows of the first repeat.
rule rcca_model:
    input:
        request=rcca_model.request,
        data=rcca_model.data,
    output:
        **rcca_model.outputs,
    log:
        rcca_model.log,
    benchmark:
        rcca_model.benchmark
    conda:
        "../../envs/rnca.yaml"
    threads: settings.threads
    resources:
        mem_mb=rcca_model.mem_mb,
        runtime=growing(120),
    script:
        "model.py"


# All cores, so that nothing runs beside it; how many of them a fit uses is what is varied.
rule rcca_timing:
    input:
        request=rcca_timing.request,
        data=rcca_timing.data,
    output:
        **rcca_timing.outputs,
    log:
        rcca_timing.log,
    benchmark:
        rcca_timing.benchmark
    conda:
        "../../envs/rnca.yaml"
    threads: workflow.cores or settings.threads
    resources:
        mem_mb=rcca_timing.mem_mb,
        runtime=growing(120),
    script:
        "timing.py"


rule rcca_svd:
    input:
        request=rcca_svd.request,
        data=rcca_svd.data,
    output:
        **rcca_svd.outputs,
    log:
        rcca_svd.log,
    benchmark:
        rcca_svd.benchmark
    conda:
        "../../envs/rnca.yaml"
    threads: workflow.cores or settings.threads
    resources:
        mem_mb=rcca_svd.mem_mb,
        runtime=growing(120),
    script:
        "timing.py"


# On the rows of the first repeat, which all feature maps share.
rule rcca_leaks:
    input:
        request=rcca_leaks.request,
        data=rcca_leaks.data,
        split=lambda w: f"{RESULTS}/rcca/{w.experiment}/{settings.rcca[w.experiment].maps[0]}-0.split.npz",
    output:
        **rcca_leaks.outputs,
    log:
        rcca_leaks.log,
    benchmark:
        rcca_leaks.benchmark
    group:
        "report"
    conda:
        "../../envs/rnca.yaml"
    script:
        "../../data/audit.py"


# All cores, so that nothing runs beside it while it is timed.
rule rcca_deep:
    input:
        request=rcca_deep.request,
        data=rcca_deep.data,
    output:
        **rcca_deep.outputs,
    log:
        rcca_deep.log,
    benchmark:
        rcca_deep.benchmark
    conda:
        "../../envs/rnca.yaml"
    threads: workflow.cores or settings.threads
    resources:
        mem_mb=rcca_deep.mem_mb,
        runtime=growing(120),
    script:
        "deep.py"


rule rcca_kcca:
    input:
        request=rcca_kcca.request,
        data=rcca_kcca.data,
    output:
        **rcca_kcca.outputs,
    log:
        rcca_kcca.log,
    benchmark:
        rcca_kcca.benchmark
    conda:
        "../../envs/rnca.yaml"
    threads: workflow.cores or settings.threads
    resources:
        mem_mb=rcca_kcca.mem_mb,
        runtime=growing(120),
    script:
        "kernel.py"


rule rcca_report:
    input:
        **rcca_tables.inputs,
        request=rcca_tables.request,
    output:
        **rcca_tables.outputs,
    log:
        rcca_tables.log,
    benchmark:
        rcca_tables.benchmark
    group:
        "report"
    conda:
        "../../envs/rnca.yaml"
    script:
        "report.py"
