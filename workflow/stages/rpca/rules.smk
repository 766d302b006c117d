# Stage rpca: RPCA against exact kernel PCA and linear PCA, RCCA against kernel CCA likewise.
rpca = settings.rpca


def rpca_parts(what):
    """Return the file of each experiment; times only of those that ask for them."""
    return {
        name: [f"{RESULTS}/rpca/{name}/{what}.csv"]
        for name, own in rpca.items()
        if what != "times" or own.is_timed()
    }


PARTS["rpca"] = rpca_parts
rpca_fit = asks(
    "stages/rpca/fit.py",
    lambda w: dict(
        name=w.experiment, seed=settings.seed, comparisons=rpca[w.experiment].comparisons()
    ),
)
rpca_times = asks(
    "stages/rpca/times.py",
    lambda w: dict(name=w.experiment, seed=settings.seed, timings=rpca[w.experiment].timings()),
)
rpca_report = asks("stages/rpca/report.py", shows("rpca", titles=rpca.titles()))


rule rpca_fit:
    input:
        request=rpca_fit.file,
        data=prepared(rpca),
    output:
        errors=f"{RESULTS}/rpca/{{experiment}}/errors.csv",
        merits=f"{RESULTS}/rpca/{{experiment}}/merits.csv",
        scores=f"{RESULTS}/rpca/{{experiment}}/scores.csv",
    log:
        log_of("rpca/{experiment}/fit"),
    benchmark:
        benchmark_of("rpca/{experiment}/fit")
    conda:
        "../../envs/rnca.yaml"
    threads: settings.threads
    resources:
        mem_mb=growing(lambda w: rpca[w.experiment].job_mem_mb("fit")),
        runtime=growing(60),
    params:
        request=rpca_fit.asked,
    script:
        "fit.py"


# All cores, so that nothing runs beside it.
rule rpca_times:
    input:
        request=rpca_times.file,
        data=prepared(rpca),
    output:
        f"{RESULTS}/rpca/{{experiment}}/times.csv",
    log:
        log_of("rpca/{experiment}/times"),
    benchmark:
        benchmark_of("rpca/{experiment}/times")
    conda:
        "../../envs/rnca.yaml"
    threads: workflow.cores or settings.threads
    resources:
        mem_mb=growing(lambda w: rpca[w.experiment].job_mem_mb("times")),
        runtime=growing(60),
    params:
        request=rpca_times.asked,
    script:
        "times.py"


rule rpca_report:
    input:
        request=rpca_report.file,
        errors=gathered("rpca", "errors"),
        merits=gathered("rpca", "merits"),
        scores=gathered("rpca", "scores"),
        times=gathered("rpca", "times") if rpca.is_timed() else [],
    output:
        exhibits("rpca"),
        expand(
            f"{RESULTS}/tables/{{name}}.csv",
            name=["rpca", "rpca_merits", "rpca_rates", "rpca_exponents"],
        ),
    log:
        log_of("rpca_report"),
    benchmark:
        benchmark_of("rpca_report")
    group:
        "report"
    conda:
        "../../envs/rnca.yaml"
    params:
        request=rpca_report.asked,
    script:
        "report.py"


# For `snakemake rpca`: this stage alone.
rule rpca:
    input:
        shown("rpca"),
