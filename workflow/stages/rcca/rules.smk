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
        **rcca_fit.inputs,
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
        **rcca_fit.resources,
    script:
        "fit.py"


use rule rcca_fit as rcca_shard with:
    input:
        **rcca_shard.inputs,
    output:
        temp(rcca_shard.outputs["shard"]),
    log:
        rcca_shard.log,
    benchmark:
        rcca_shard.benchmark
    resources:
        **rcca_shard.resources,


rule rcca_cv:
    input:
        **rcca_cv.inputs,
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
        **rcca_cv.resources,
    script:
        "cv.py"


rule rcca_grid:
    input:
        **rcca_grid.inputs,
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
        **rcca_grid.resources,
    script:
        "grid.py"


rule rcca_linear:
    input:
        **rcca_linear.inputs,
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
        **rcca_linear.resources,
    script:
        "grid.py"


# On the rows of the first repeat.
rule rcca_model:
    input:
        **rcca_model.inputs,
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
        **rcca_model.resources,
    script:
        "model.py"


# All cores, so that nothing runs beside it; how many of them a fit uses is what is varied.
rule rcca_timing:
    input:
        **rcca_timing.inputs,
    output:
        **rcca_timing.outputs,
    log:
        rcca_timing.log,
    benchmark:
        rcca_timing.benchmark
    conda:
        "../../envs/rnca.yaml"
    threads: CORES
    resources:
        **rcca_timing.resources,
    script:
        "timing.py"


use rule rcca_timing as rcca_svd with:
    input:
        **rcca_svd.inputs,
    output:
        **rcca_svd.outputs,
    log:
        rcca_svd.log,
    benchmark:
        rcca_svd.benchmark
    resources:
        **rcca_svd.resources,


# On the rows of the first repeat, which all feature maps share.
rule rcca_leaks:
    input:
        **rcca_leaks.inputs,
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
        **rcca_deep.inputs,
    output:
        **rcca_deep.outputs,
    log:
        rcca_deep.log,
    benchmark:
        rcca_deep.benchmark
    conda:
        "../../envs/rnca.yaml"
    threads: CORES
    resources:
        **rcca_deep.resources,
    script:
        "deep.py"


rule rcca_kcca:
    input:
        **rcca_kcca.inputs,
    output:
        **rcca_kcca.outputs,
    log:
        rcca_kcca.log,
    benchmark:
        rcca_kcca.benchmark
    conda:
        "../../envs/rnca.yaml"
    threads: CORES
    resources:
        **rcca_kcca.resources,
    script:
        "kernel.py"


rule rcca_report:
    input:
        **rcca_tables.inputs,
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
