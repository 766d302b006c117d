# Stage maps: every feature map by kernel error, test correlation, seconds and numbers kept.


rule maps_compare:
    input:
        data=plan.maps.prepared,
    output:
        f"{RESULTS}/maps/{{experiment}}/{{repeat}}.scores.csv",
    log:
        f"{RESULTS}/logs/maps/{{experiment}}/{{repeat}}.log",
    benchmark:
        f"{RESULTS}/benchmarks/maps/{{experiment}}/{{repeat}}.tsv"
    conda:
        "../envs/rnca.yaml"
    threads: config["threads"]
    resources:
        mem_mb=growing(plan.maps.mem_mb),
        runtime=growing(plan.maps.minutes),
    params:
        comparison=plan.maps.comparison,
        code=code_of("maps_compare.py"),
    script:
        "../scripts/maps_compare.py"


# All cores, so that nothing runs beside it.
rule maps_times:
    output:
        f"{RESULTS}/maps/{{experiment}}.times.csv",
    log:
        f"{RESULTS}/logs/maps/{{experiment}}.times.log",
    benchmark:
        f"{RESULTS}/benchmarks/maps/{{experiment}}.times.tsv"
    conda:
        "../envs/rnca.yaml"
    threads: workflow.cores or config["threads"]
    resources:
        mem_mb=growing(plan.maps.timing_mem_mb),
        runtime=growing(30),
    params:
        timing=plan.maps.timing,
        code=code_of("maps_times.py"),
    script:
        "../scripts/maps_times.py"


# All repeats of an experiment in one place, or the reason why there are none.
rule maps_gather:
    input:
        scores=where_had(plan.maps, plan.maps.scores),
        not_had=why_not_had(plan.maps),
    output:
        scores=f"{RESULTS}/maps/{{experiment}}.scores.csv",
    log:
        f"{RESULTS}/logs/maps/{{experiment}}.log",
    benchmark:
        f"{RESULTS}/benchmarks/maps/{{experiment}}.tsv"
    conda:
        "../envs/rnca.yaml"
    params:
        dataset=plan.maps.dataset,
        code=code_of("gather.py"),
    script:
        "../scripts/gather.py"


rule maps_report:
    input:
        scores=plan.maps.gathered("scores"),
        times=plan.maps.gathered("times"),
        published="resources/paper/table1_rcca.csv",
        layers="resources/paper/dcca_layers.csv",
        dcca=plan.maps.baselines("dcca"),
        kcca=plan.maps.baselines("kcca"),
    output:
        scores=report(
            f"{RESULTS}/tables/maps.md",
            caption="../report/maps_table.rst",
            category="Feature maps",
            labels={"what": "kernel error and correlation: table"},
        ),
        scores_csv=f"{RESULTS}/tables/maps.csv",
        scores_figure=report(
            f"{RESULTS}/figures/maps.svg",
            caption="../report/maps_figure.rst",
            category="Feature maps",
            labels={"what": "kernel error and correlation: figure"},
        ),
        scores_png=f"{RESULTS}/figures/maps.png",
        speed=report(
            f"{RESULTS}/tables/maps_speed.md",
            caption="../report/maps_speed_table.rst",
            category="Feature maps",
            labels={"what": "seconds: table"},
        ),
        speed_csv=f"{RESULTS}/tables/maps_speed.csv",
        speed_figure=report(
            f"{RESULTS}/figures/maps_speed.svg",
            caption="../report/maps_speed_figure.rst",
            category="Feature maps",
            labels={"what": "seconds: figure"},
        ),
        speed_png=f"{RESULTS}/figures/maps_speed.png",
        sizes=report(
            f"{RESULTS}/tables/maps_sizes.md",
            caption="../report/maps_sizes_table.rst",
            category="Feature maps",
            labels={"what": "numbers kept: table"},
        ),
        sizes_csv=f"{RESULTS}/tables/maps_sizes.csv",
        sizes_figure=report(
            f"{RESULTS}/figures/maps_sizes.svg",
            caption="../report/maps_sizes_figure.rst",
            category="Feature maps",
            labels={"what": "numbers kept: figure"},
        ),
        sizes_png=f"{RESULTS}/figures/maps_sizes.png",
    log:
        f"{RESULTS}/logs/maps_report.log",
    benchmark:
        f"{RESULTS}/benchmarks/maps_report.tsv"
    conda:
        "../envs/rnca.yaml"
    params:
        published=plan.maps.published(),
        measured=plan.maps.measured(),
        titles=plan.maps.titles(),
        code=code_of("maps_report.py"),
    script:
        "../scripts/maps_report.py"


# For `snakemake maps`: this stage, and the baselines whose sizes stand beside the paper's.
rule maps:
    input:
        plan.maps.outputs(),
