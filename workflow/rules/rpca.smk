# Stage rpca: RPCA against exact kernel PCA and linear PCA, RCCA against kernel CCA likewise.


rule rpca_compare:
    input:
        data=where_had(plan.rpca, plan.rpca.prepared),
        not_had=why_not_had(plan.rpca),
    output:
        errors=f"{RESULTS}/rpca/{{experiment}}.errors.csv",
        merits=f"{RESULTS}/rpca/{{experiment}}.merits.csv",
        scores=f"{RESULTS}/rpca/{{experiment}}.scores.csv",
    log:
        f"{RESULTS}/logs/rpca/{{experiment}}.compare.log",
    benchmark:
        f"{RESULTS}/benchmarks/rpca/{{experiment}}.compare.tsv"
    conda:
        "../envs/rnca.yaml"
    threads: config["threads"]
    resources:
        mem_mb=growing(plan.rpca.compare_mem_mb),
        runtime=growing(plan.rpca.compare_minutes),
    params:
        dataset=plan.rpca.dataset,
        comparisons=plan.rpca.comparisons,
        code=code_of("rpca_compare.py"),
    script:
        "../scripts/rpca_compare.py"


# All cores, so that nothing runs beside it.
rule rpca_times:
    input:
        data=where_had(plan.rpca, plan.rpca.prepared),
        not_had=why_not_had(plan.rpca),
    output:
        f"{RESULTS}/rpca/{{experiment}}.times.csv",
    log:
        f"{RESULTS}/logs/rpca/{{experiment}}.times.log",
    benchmark:
        f"{RESULTS}/benchmarks/rpca/{{experiment}}.times.tsv"
    conda:
        "../envs/rnca.yaml"
    threads: workflow.cores or config["threads"]
    resources:
        mem_mb=growing(plan.rpca.times_mem_mb),
        runtime=growing(plan.rpca.times_minutes),
    params:
        dataset=plan.rpca.dataset,
        timings=plan.rpca.timings,
        code=code_of("rpca_times.py"),
    script:
        "../scripts/rpca_times.py"


rule rpca_report:
    input:
        errors=plan.rpca.gathered("errors"),
        merits=plan.rpca.gathered("merits"),
        scores=plan.rpca.gathered("scores"),
        times=plan.rpca.times(),
    output:
        markdown=report(
            f"{RESULTS}/tables/rpca.md",
            caption="../report/rpca.rst",
            category="RPCA",
            labels={"what": "table"},
        ),
        errors=f"{RESULTS}/tables/rpca.csv",
        merits=f"{RESULTS}/tables/rpca_merits.csv",
        rates=f"{RESULTS}/tables/rpca_rates.csv",
        exponents=f"{RESULTS}/tables/rpca_exponents.csv",
        svg=[
            report(
                f"{RESULTS}/figures/{name}.svg",
                caption=f"../report/{name}.rst",
                category="RPCA",
                labels={"what": what},
            )
            for name, what in plan.rpca.figures().items()
        ],
        png=[f"{RESULTS}/figures/{name}.png" for name in plan.rpca.figures()],
    log:
        f"{RESULTS}/logs/rpca_report.log",
    benchmark:
        f"{RESULTS}/benchmarks/rpca_report.tsv"
    conda:
        "../envs/rnca.yaml"
    params:
        titles=plan.rpca.titles(),
        code=code_of("rpca_report.py"),
    script:
        "../scripts/rpca_report.py"


# For `snakemake rpca`: this stage alone.
rule rpca:
    input:
        plan.rpca.outputs(),
