# Stage maps: every feature map by kernel error, test correlation, seconds and numbers kept.
maps = settings.maps
# Experiments of stage rcca whose deep and kernel CCA have a line in the table of numbers kept.
maps_measured = [name for name in settings.rcca.compared() if settings.rcca[name].published]


def maps_parts(what):
    """Return the CSVs of each experiment: its times, or the scores of each repeat."""
    if what == "times":
        return {name: [f"{RESULTS}/maps/{name}/times.csv"] for name, _ in maps.items()}
    return {
        name: [f"{RESULTS}/maps/{name}/{repeat}.{what}.csv" for repeat in range(own.repeats)]
        for name, own in maps.items()
    }


PARTS["maps"] = maps_parts
maps_compare = asks(
    "stages/maps/fit.py",
    lambda w: maps[w.experiment].job(name=w.experiment, seed=settings.seed, repeat=int(w.repeat)),
)
maps_times = asks(
    "stages/maps/times.py",
    lambda w: maps[w.experiment].timing(name=w.experiment, seed=settings.seed),
)
maps_report = asks(
    "stages/maps/report.py",
    {"published": maps.published(), "measured": maps_measured, "titles": maps.titles()},
)


rule maps_compare:
    input:
        request=maps_compare.file,
        data=prepared(maps),
    output:
        f"{RESULTS}/maps/{{experiment}}/{{repeat}}.scores.csv",
    log:
        log_of("maps/{experiment}/{repeat}"),
    benchmark:
        benchmark_of("maps/{experiment}/{repeat}")
    conda:
        "../../envs/rnca.yaml"
    threads: settings.threads
    resources:
        mem_mb=growing(lambda w: maps[w.experiment].fit_mem_mb()),
        runtime=growing(lambda w, threads: maps[w.experiment].job_minutes(threads)),
    params:
        request=maps_compare.asked,
    script:
        "fit.py"


# All cores, so that nothing else runs meanwhile.
rule maps_times:
    input:
        request=maps_times.file,
    output:
        f"{RESULTS}/maps/{{experiment}}/times.csv",
    log:
        log_of("maps/{experiment}/times"),
    benchmark:
        benchmark_of("maps/{experiment}/times")
    conda:
        "../../envs/rnca.yaml"
    threads: workflow.cores or settings.threads
    resources:
        mem_mb=growing(lambda w: maps[w.experiment].timing_mem_mb()),
        runtime=growing(30),
    params:
        request=maps_times.asked,
    script:
        "times.py"


rule maps_report:
    input:
        request=maps_report.file,
        scores=gathered("maps", "scores"),
        times=gathered("maps", "times"),
        published="resources/paper/table1_rcca.csv",
        layers="resources/paper/dcca_layers.csv",
        baselines=[f"{RESULTS}/tables/baselines.csv"] if maps_measured else [],
    output:
        exhibits("maps"),
        f"{RESULTS}/tables/maps.csv",
        f"{RESULTS}/tables/maps_speed.csv",
        f"{RESULTS}/tables/maps_sizes.csv",
    log:
        log_of("maps_report"),
    benchmark:
        benchmark_of("maps_report")
    group:
        "report"
    conda:
        "../../envs/rnca.yaml"
    params:
        request=maps_report.asked,
    script:
        "report.py"


# For `snakemake maps`: this stage, and rcca where the settings have its baselines beside the paper's.
rule maps:
    input:
        shown("maps"),
