# Stage lupi: learning with privileged information (Section 5.3).
# Partitions are divided into jobs, each of which keeps its own result.
lupi = settings.lupi


def lupi_partitions(w):
    """Return the settings of a job: every so-manieth partition of an experiment."""
    own = lupi[w.experiment]
    partitions = list(range(int(w.block), own.partitions, own.jobs))
    return own.job(name=w.experiment, seed=settings.seed, numbers=partitions)


PARTS["lupi"] = lambda what: {
    name: [f"{RESULTS}/lupi/{name}/{block}.{what}.csv" for block in range(own.jobs)]
    for name, own in lupi.items()
}
lupi_fit = asks("stages/lupi/fit.py", lupi_partitions)
lupi_report = asks(
    "stages/lupi/report.py", shows("lupi", published=lupi.published(), titles=lupi.titles())
)


rule lupi_fit:
    input:
        request=lupi_fit.file,
        data=prepared(lupi),
    output:
        accuracy=f"{RESULTS}/lupi/{{experiment}}/{{block}}.accuracy.csv",
        settings=f"{RESULTS}/lupi/{{experiment}}/{{block}}.settings.csv",
    log:
        log_of("lupi/{experiment}/{block}"),
    benchmark:
        benchmark_of("lupi/{experiment}/{block}")
    conda:
        "../../envs/rnca.yaml"
    resources:
        mem_mb=growing(lambda w: lupi[w.experiment].mem_mb()),
        runtime=growing(240),
    params:
        request=lupi_fit.asked,
    script:
        "fit.py"


rule lupi_report:
    input:
        request=lupi_report.file,
        accuracy=gathered("lupi", "accuracy"),
        settings=gathered("lupi", "settings"),
        published="resources/paper/fig_lupi.csv",
    output:
        exhibits("lupi"),
        f"{RESULTS}/tables/lupi.csv",
        f"{RESULTS}/tables/lupi_pairs.csv",
    log:
        log_of("lupi_report"),
    benchmark:
        benchmark_of("lupi_report")
    group:
        "report"
    conda:
        "../../envs/rnca.yaml"
    params:
        request=lupi_report.asked,
    script:
        "report.py"


# For `snakemake lupi`: this stage alone.
rule lupi:
    input:
        shown("lupi"),
