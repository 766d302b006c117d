# Stage extensions: spectral clustering, discriminant analysis and the dependence coefficient.
extensions = settings.extensions


def extensions_parts(what):
    """Return the CSV of a part, or the points of part shapes; none if the run omits the part."""
    part, file = ("shapes", "points") if what == "points" else (what, "scores")
    return {part: [f"{RESULTS}/extensions/{part}/{file}.csv"]} if part in extensions.parts() else {}


PARTS["extensions"] = extensions_parts
extensions_report = asks("stages/extensions/report.py", {"titles": extensions.titles()})

for part, own in extensions.parts().items():
    request = asks(f"stages/extensions/{part}.py", own.job(seed=settings.seed))

    rule:
        name:
            f"extensions_{part}"
        input:
            request=request.file,
            data=f"{PREPARED}/{own.dataset}" if hasattr(own, "dataset") else [],
        output:
            scores=f"{RESULTS}/extensions/{part}/scores.csv",
            points=f"{RESULTS}/extensions/{part}/points.csv" if part == "shapes" else [],
        log:
            log_of(f"extensions/{part}"),
        benchmark:
            benchmark_of(f"extensions/{part}")
        conda:
            "../../envs/rnca.yaml"
        threads: 1 if part == "dependence" else settings.threads
        resources:
            mem_mb=growing(own.mem_mb()),
            runtime=growing(lambda w, threads, own=own: own.job_minutes(threads)),
        params:
            part=part,
            request=request.asked,
        # Formatted when the job runs, unlike the rest.
        script:
            "{params.part}.py"


rule extensions_report:
    input:
        request=extensions_report.file,
        shapes=gathered("extensions", "shapes"),
        points=gathered("extensions", "points"),
        clustering=gathered("extensions", "clustering"),
        discriminants=gathered("extensions", "discriminants"),
        dependence=gathered("extensions", "dependence"),
    output:
        exhibits("extensions"),
        expand(
            f"{RESULTS}/tables/{{name}}.csv",
            name=dict.fromkeys(Path(file).stem for file in shown("extensions")),
        ),
    log:
        log_of("extensions_report"),
    benchmark:
        benchmark_of("extensions_report")
    group:
        "report"
    conda:
        "../../envs/rnca.yaml"
    params:
        request=extensions_report.asked,
    script:
        "report.py"


# For `snakemake extensions`: this stage alone.
rule extensions:
    input:
        shown("extensions"),
