# Stage bounds: the norms of Theorems 3 and 4 against n, m and γ, and the counterexample.
# A sweep's repeats are divided into blocks, so that a stopped run keeps those that are done.
bounds = settings.bounds


def bounds_block(w):
    """Return the settings of a job: a block of draws of a sweep."""
    own = bounds.sweeps[w.experiment]
    more = {"name": w.experiment, "seed": settings.seed}
    return own.model_dump(mode="json") | more | own.blocks()[int(w.block)]


PARTS["bounds"] = lambda what: {
    name: [f"{RESULTS}/bounds/{name}/block-{block}.csv" for block in range(len(own.blocks()))]
    for name, own in bounds.sweeps.items()
    if what == "draws"
}
bounds_sweep = asks("stages/bounds/fit.py", bounds_block)
bounds_theorem4 = asks(
    "stages/bounds/theorem4.py",
    lambda w: bounds.theorem4.model_dump(mode="json") | {"seed": settings.seed},
)
bounds_report = asks(
    "stages/bounds/report.py",
    shows(
        "bounds",
        fixed={name: own.fixed.model_dump() for name, own in bounds.sweeps.items()},
        published=bounds.published(),
        titles=bounds.titles(),
    ),
)


rule bounds_sweep:
    input:
        request=bounds_sweep.file,
    output:
        f"{RESULTS}/bounds/{{experiment}}/block-{{block}}.csv",
    log:
        log_of("bounds/{experiment}/block-{block}"),
    benchmark:
        benchmark_of("bounds/{experiment}/block-{block}")
    conda:
        "../../envs/rnca.yaml"
    resources:
        mem_mb=growing(lambda w: bounds.sweeps[w.experiment].mem_mb()),
        runtime=growing(30),
    params:
        request=bounds_sweep.asked,
    script:
        "fit.py"


rule bounds_theorem4:
    input:
        request=bounds_theorem4.file,
    output:
        counterexample=f"{RESULTS}/bounds/counterexample.csv",
        correlations=f"{RESULTS}/bounds/correlations.csv",
    log:
        log_of("bounds_theorem4"),
    benchmark:
        benchmark_of("bounds_theorem4")
    conda:
        "../../envs/rnca.yaml"
    resources:
        mem_mb=growing(lambda w: bounds.theorem4.mem_mb()),
        runtime=growing(60),
    params:
        request=bounds_theorem4.asked,
    script:
        "theorem4.py"


rule bounds_report:
    input:
        request=bounds_report.file,
        draws=gathered("bounds", "draws") if bounds.sweeps else [],
        theorem4=rules.bounds_theorem4.output if bounds.theorem4 else [],
        published="resources/paper/fig_bounds.csv",
    output:
        exhibits("bounds"),
        (
            [
                f"{RESULTS}/bounds/points.csv",
                expand(
                    f"{RESULTS}/tables/{{name}}.csv", name=["bounds", "bounds_pieces", "tightness"]
                ),
            ]
            if bounds.sweeps
            else []
        ),
        (
            expand(
                f"{RESULTS}/tables/{{name}}.csv",
                name=["theorem4", "regularised_correlations", "estimates"],
            )
            if bounds.theorem4
            else []
        ),
    log:
        log_of("bounds_report"),
    benchmark:
        benchmark_of("bounds_report")
    group:
        "report"
    conda:
        "../../envs/rnca.yaml"
    params:
        request=bounds_report.asked,
    script:
        "report.py"


# For `snakemake bounds`: this stage alone.
rule bounds:
    input:
        shown("bounds"),
