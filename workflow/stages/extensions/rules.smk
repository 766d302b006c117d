# Stage extensions: spectral clustering, discriminant analysis and the dependence coefficient.
extensions = settings.extensions


def extensions_parts(what):
    """Return the CSV of a part, or the points of part shapes; none if the run omits the part."""
    part, file = ("shapes", "points") if what == "points" else (what, "scores")
    return {part: [f"{RESULTS}/extensions/{part}/{file}.csv"]} if part in extensions.parts() else {}


PARTS["extensions"] = extensions_parts
extensions_shapes = asks(
    "stages/extensions/shapes.py", lambda w: extensions.shapes.job(seed=settings.seed)
)
extensions_clustering = asks(
    "stages/extensions/clustering.py",
    lambda w: extensions.clustering.job(seed=settings.seed),
)
extensions_discriminants = asks(
    "stages/extensions/discriminants.py",
    lambda w: extensions.discriminants.job(seed=settings.seed),
)
extensions_dependence = asks(
    "stages/extensions/dependence.py",
    lambda w: extensions.dependence.job(seed=settings.seed),
)
extensions_report = asks(
    "stages/extensions/report.py", shows("extensions", titles=extensions.titles())
)


rule extensions_shapes:
    input:
        request=extensions_shapes.file,
    output:
        scores=f"{RESULTS}/extensions/shapes/scores.csv",
        points=f"{RESULTS}/extensions/shapes/points.csv",
    log:
        log_of("extensions/shapes"),
    benchmark:
        benchmark_of("extensions/shapes")
    conda:
        "../../envs/rnca.yaml"
    threads: settings.threads
    resources:
        mem_mb=growing(lambda w: extensions.shapes.mem_mb()),
        runtime=growing(60),
    params:
        request=extensions_shapes.asked,
    script:
        "shapes.py"


rule extensions_clustering:
    input:
        request=extensions_clustering.file,
        data=lambda w: f"{PREPARED}/{extensions.clustering.dataset}",
    output:
        f"{RESULTS}/extensions/clustering/scores.csv",
    log:
        log_of("extensions/clustering"),
    benchmark:
        benchmark_of("extensions/clustering")
    conda:
        "../../envs/rnca.yaml"
    threads: settings.threads
    resources:
        mem_mb=growing(lambda w: extensions.clustering.mem_mb()),
        runtime=growing(60),
    params:
        request=extensions_clustering.asked,
    script:
        "clustering.py"


rule extensions_discriminants:
    input:
        request=extensions_discriminants.file,
        data=lambda w: f"{PREPARED}/{extensions.discriminants.dataset}",
    output:
        f"{RESULTS}/extensions/discriminants/scores.csv",
    log:
        log_of("extensions/discriminants"),
    benchmark:
        benchmark_of("extensions/discriminants")
    conda:
        "../../envs/rnca.yaml"
    threads: settings.threads
    resources:
        mem_mb=growing(lambda w: extensions.discriminants.mem_mb()),
        runtime=growing(60),
    params:
        request=extensions_discriminants.asked,
    script:
        "discriminants.py"


rule extensions_dependence:
    input:
        request=extensions_dependence.file,
    output:
        f"{RESULTS}/extensions/dependence/scores.csv",
    log:
        log_of("extensions/dependence"),
    benchmark:
        benchmark_of("extensions/dependence")
    conda:
        "../../envs/rnca.yaml"
    resources:
        mem_mb=growing(lambda w: extensions.dependence.mem_mb()),
        runtime=growing(60),
    params:
        request=extensions_dependence.asked,
    script:
        "dependence.py"


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
        # The CSV behind each table or figure; that of the shapes is `points`.
        expand(
            f"{RESULTS}/tables/{{name}}.csv",
            name={Path(file).stem for file in shown("extensions")} - {"extensions_shapes"},
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
