# Stage bounds: the norms of Theorems 3 and 4 against n, m and γ, and the counterexample.
# A sweep's repeats are split into blocks, so that a stopped run keeps those that are done.


rule bounds_sweep:
    output:
        f"{RESULTS}/bounds/{{sweep}}/block-{{block}}.csv",
    log:
        f"{RESULTS}/logs/bounds/{{sweep}}/block-{{block}}.log",
    benchmark:
        f"{RESULTS}/benchmarks/bounds/{{sweep}}/block-{{block}}.tsv"
    conda:
        "../envs/rnca.yaml"
    resources:
        mem_mb=growing(plan.bounds.mem_mb),
        runtime=growing(plan.bounds.minutes),
    params:
        sweep=plan.bounds.sweep,
        repeats=plan.bounds.repeats,
        code=code_of("bounds_sweep.py"),
    script:
        "../scripts/bounds_sweep.py"


rule bounds_theorem4:
    output:
        counterexample=f"{RESULTS}/bounds/counterexample.csv",
        correlations=f"{RESULTS}/bounds/correlations.csv",
    log:
        f"{RESULTS}/logs/bounds_theorem4.log",
    benchmark:
        f"{RESULTS}/benchmarks/bounds_theorem4.tsv"
    conda:
        "../envs/rnca.yaml"
    resources:
        mem_mb=growing(plan.bounds.largest_mem_mb()),
        runtime=growing(60),
    params:
        counterexample=plan.bounds.counterexample(),
        correlations=plan.bounds.correlations(),
        code=code_of("bounds_theorem4.py"),
    script:
        "../scripts/bounds_theorem4.py"


rule bounds_report:
    input:
        draws=plan.bounds.blocks(),
        published="resources/paper/fig_bounds.csv",
    output:
        norms=f"{RESULTS}/bounds/norms.csv",
        points=f"{RESULTS}/bounds/points.csv",
        markdown=report(
            f"{RESULTS}/tables/bounds.md",
            caption="../report/bounds_table.rst",
            category="Bounds",
            labels={"what": "exponents, levels and looseness"},
        ),
        csv=f"{RESULTS}/tables/bounds.csv",
        figure=report(
            f"{RESULTS}/figures/bounds.svg",
            caption="../report/bounds_figure.rst",
            category="Bounds",
            labels={"what": "norms against n, m and γ"},
        ),
        png=f"{RESULTS}/figures/bounds.png",
    log:
        f"{RESULTS}/logs/bounds_report.log",
    benchmark:
        f"{RESULTS}/benchmarks/bounds_report.tsv"
    conda:
        "../envs/rnca.yaml"
    params:
        fixed=plan.bounds.fixed(),
        published=plan.bounds.published(),
        titles=plan.bounds.titles(),
        code=code_of("bounds_report.py"),
    script:
        "../scripts/bounds_report.py"


rule bounds_theorem4_report:
    input:
        counterexample=rules.bounds_theorem4.output.counterexample,
        correlations=rules.bounds_theorem4.output.correlations,
    output:
        counterexample=report(
            f"{RESULTS}/tables/theorem4.md",
            caption="../report/theorem4_table.rst",
            category="Bounds",
            labels={"what": "counterexample to Theorem 4, table"},
        ),
        counterexample_csv=f"{RESULTS}/tables/theorem4.csv",
        correlations=report(
            f"{RESULTS}/tables/regularised_correlations.md",
            caption="../report/regularised_correlations_table.rst",
            category="Bounds",
            labels={"what": "what holds instead"},
        ),
        correlations_csv=f"{RESULTS}/tables/regularised_correlations.csv",
        figure=report(
            f"{RESULTS}/figures/theorem4.svg",
            caption="../report/theorem4_figure.rst",
            category="Bounds",
            labels={"what": "counterexample to Theorem 4, figure"},
        ),
        png=f"{RESULTS}/figures/theorem4.png",
    log:
        f"{RESULTS}/logs/bounds_theorem4_report.log",
    benchmark:
        f"{RESULTS}/benchmarks/bounds_theorem4_report.tsv"
    conda:
        "../envs/rnca.yaml"
    params:
        code=code_of("bounds_theorem4_report.py"),
    script:
        "../scripts/bounds_theorem4_report.py"


# For `snakemake bounds`: this stage alone.
rule bounds:
    input:
        plan.bounds.outputs(),
