# Stage extensions: spectral clustering, discriminant analysis and the dependence coefficient.


rule extensions_shapes:
    output:
        scores=f"{RESULTS}/extensions/shapes.scores.csv",
        points=f"{RESULTS}/extensions/shapes.points.csv",
    log:
        f"{RESULTS}/logs/extensions/shapes.log",
    benchmark:
        f"{RESULTS}/benchmarks/extensions/shapes.tsv"
    conda:
        "../envs/rnca.yaml"
    threads: config["threads"]
    resources:
        mem_mb=growing(plan.extensions.memory("shapes")),
        runtime=growing(plan.extensions.time("shapes")),
    params:
        comparison=plan.extensions.job("shapes"),
        code=code_of("extensions_shapes.py"),
    script:
        "../scripts/extensions_shapes.py"


rule extensions_clustering:
    input:
        data=where_had(plan.extensions.clustering, plan.extensions.clustering.prepared),
        not_had=why_not_had(plan.extensions.clustering),
    output:
        f"{RESULTS}/extensions/clustering.scores.csv",
    log:
        f"{RESULTS}/logs/extensions/clustering.log",
    benchmark:
        f"{RESULTS}/benchmarks/extensions/clustering.tsv"
    conda:
        "../envs/rnca.yaml"
    threads: config["threads"]
    resources:
        mem_mb=growing(plan.extensions.memory("clustering")),
        runtime=growing(plan.extensions.time("clustering")),
    params:
        dataset=plan.extensions.clustering.dataset,
        comparison=plan.extensions.job("clustering"),
        code=code_of("extensions_clustering.py"),
    script:
        "../scripts/extensions_clustering.py"


rule extensions_discriminants:
    input:
        data=where_had(plan.extensions.discriminants, plan.extensions.discriminants.prepared),
        not_had=why_not_had(plan.extensions.discriminants),
    output:
        f"{RESULTS}/extensions/discriminants.scores.csv",
    log:
        f"{RESULTS}/logs/extensions/discriminants.log",
    benchmark:
        f"{RESULTS}/benchmarks/extensions/discriminants.tsv"
    conda:
        "../envs/rnca.yaml"
    threads: config["threads"]
    resources:
        mem_mb=growing(plan.extensions.memory("discriminants")),
        runtime=growing(plan.extensions.time("discriminants")),
    params:
        dataset=plan.extensions.discriminants.dataset,
        contest=plan.extensions.job("discriminants"),
        code=code_of("extensions_discriminants.py"),
    script:
        "../scripts/extensions_discriminants.py"


rule extensions_dependence:
    output:
        f"{RESULTS}/extensions/dependence.scores.csv",
    log:
        f"{RESULTS}/logs/extensions/dependence.log",
    benchmark:
        f"{RESULTS}/benchmarks/extensions/dependence.tsv"
    conda:
        "../envs/rnca.yaml"
    resources:
        mem_mb=growing(plan.extensions.memory("dependence")),
        runtime=growing(plan.extensions.time("dependence")),
    params:
        simulation=plan.extensions.job("dependence"),
        code=code_of("extensions_dependence.py"),
    script:
        "../scripts/extensions_dependence.py"


rule extensions_report:
    input:
        shapes=plan.extensions.result("shapes"),
        points=plan.extensions.result("shapes", "points"),
        clustering=plan.extensions.result("clustering"),
        discriminants=plan.extensions.result("discriminants"),
        dependence=plan.extensions.result("dependence"),
    output:
        markdown=[
            report(
                f"{RESULTS}/tables/extensions_{name}.md",
                caption=f"../report/extensions_{name}.rst",
                category="Extensions",
                labels={"what": f"{name}, table"},
            )
            for name in plan.extensions.reports()
        ],
        csv=[f"{RESULTS}/tables/extensions_{name}.csv" for name in plan.extensions.reports()],
        svg=[
            report(
                f"{RESULTS}/figures/extensions_{name}.svg",
                caption=f"../report/extensions_{name}.rst",
                category="Extensions",
                labels={"what": f"{name}, figure"},
            )
            for name in plan.extensions.reports()
        ],
        png=[f"{RESULTS}/figures/extensions_{name}.png" for name in plan.extensions.reports()],
    log:
        f"{RESULTS}/logs/extensions_report.log",
    benchmark:
        f"{RESULTS}/benchmarks/extensions_report.tsv"
    conda:
        "../envs/rnca.yaml"
    params:
        reports=plan.extensions.reports(),
        titles=plan.extensions.titles(),
        code=code_of("extensions_report.py"),
    script:
        "../scripts/extensions_report.py"


# For `snakemake extensions`: this stage alone.
rule extensions:
    input:
        plan.extensions.outputs(),
