# Stage autoencoder: reconstruction of unseen pictures, beside linear PCA.


# A part is a repeat, a sweep, or all of an experiment.
rule autoencoder_fit:
    input:
        data=plan.autoencoder.prepared,
        chosen=plan.autoencoder.chosen,
    output:
        errors=f"{RESULTS}/autoencoder/{{experiment}}/{{part}}.errors.csv",
        pictures=f"{RESULTS}/autoencoder/{{experiment}}/{{part}}.pictures.csv",
    log:
        f"{RESULTS}/logs/autoencoder/{{experiment}}/{{part}}.log",
    benchmark:
        f"{RESULTS}/benchmarks/autoencoder/{{experiment}}/{{part}}.tsv"
    conda:
        "../envs/rnca.yaml"
    threads: config["threads"]
    resources:
        mem_mb=growing(plan.autoencoder.mem_mb),
        runtime=growing(plan.autoencoder.minutes),
    params:
        experiment=plan.autoencoder.experiment,
        repeats=plan.autoencoder.repeats,
        axes=plan.autoencoder.axes,
        code=code_of("autoencoder_fit.py"),
    script:
        "../scripts/autoencoder_fit.py"


# All parts of an experiment in one place, or the reason why there are none.
rule autoencoder_gather:
    input:
        errors=where_had(plan.autoencoder, plan.autoencoder.errors),
        pictures=where_had(plan.autoencoder, plan.autoencoder.pictures),
        not_had=why_not_had(plan.autoencoder),
    output:
        errors=f"{RESULTS}/autoencoder/{{experiment}}.errors.csv",
        pictures=f"{RESULTS}/autoencoder/{{experiment}}.pictures.csv",
    log:
        f"{RESULTS}/logs/autoencoder/{{experiment}}.log",
    benchmark:
        f"{RESULTS}/benchmarks/autoencoder/{{experiment}}.tsv"
    conda:
        "../envs/rnca.yaml"
    params:
        dataset=plan.autoencoder.dataset,
        code=code_of("gather.py"),
    script:
        "../scripts/gather.py"


rule autoencoder_report:
    input:
        errors=plan.autoencoder.gathered("errors"),
        pictures=plan.autoencoder.gathered("pictures"),
        published="resources/paper/autoencoder.csv",
    output:
        table=report(
            f"{RESULTS}/tables/autoencoder.md",
            caption="../report/autoencoder_table.rst",
            category="Autoencoders",
            labels={"what": "errors and seconds: table"},
        ),
        csv=f"{RESULTS}/tables/autoencoder.csv",
        pictures=report(
            f"{RESULTS}/figures/autoencoder.svg",
            caption="../report/autoencoder_figure.rst",
            category="Autoencoders",
            labels={"what": "reconstructions: figure"},
        ),
        pictures_png=f"{RESULTS}/figures/autoencoder.png",
        errors=report(
            f"{RESULTS}/figures/autoencoder_errors.svg",
            caption="../report/autoencoder_errors.rst",
            category="Autoencoders",
            labels={"what": "error against d and m: figure"},
        ),
        errors_png=f"{RESULTS}/figures/autoencoder_errors.png",
        latent=report(
            f"{RESULTS}/figures/autoencoder_latent.svg",
            caption="../report/autoencoder_latent.rst",
            category="Autoencoders",
            labels={"what": "latent space: figure"},
        ),
        latent_png=f"{RESULTS}/figures/autoencoder_latent.png",
    log:
        f"{RESULTS}/logs/autoencoder_report.log",
    benchmark:
        f"{RESULTS}/benchmarks/autoencoder_report.tsv"
    conda:
        "../envs/rnca.yaml"
    params:
        published=plan.autoencoder.published(),
        titles=plan.autoencoder.titles(),
        code=code_of("autoencoder_report.py"),
    script:
        "../scripts/autoencoder_report.py"


# For `snakemake autoencoder`: this stage alone.
rule autoencoder:
    input:
        plan.autoencoder.outputs(),
