# Stage autoencoder: reconstruction of unseen pictures, beside linear PCA (Section 5.4).
# A part is a repeat, or all of an experiment.
autoencoder = settings.autoencoder


def autoencoder_part(w):
    """Return the settings of a job: some repeats of an experiment."""
    own = autoencoder[w.experiment]
    return own.job(name=w.experiment, seed=settings.seed, repeats=own.parts()[w.part])


def autoencoder_parts(what):
    """List the CSVs of all parts; of pictures, those of the part that has repeat 0."""
    found = {}
    for name, own in autoencoder.items():
        parts = list(own.parts())[: 1 if what == "pictures" else None]
        found[name] = [f"{RESULTS}/autoencoder/{name}/{part}.{what}.csv" for part in parts]
    return found


PARTS["autoencoder"] = autoencoder_parts
autoencoder_fit = asks("stages/autoencoder/fit.py", autoencoder_part)
autoencoder_report = asks(
    "stages/autoencoder/report.py",
    shows("autoencoder", published=autoencoder.published(), titles=autoencoder.titles()),
)
autoencoder_pictures = asks(
    "stages/autoencoder/figures.py", shows("autoencoder", titles=autoencoder.titles())
)


rule autoencoder_fit:
    input:
        request=autoencoder_fit.file,
        data=prepared(autoencoder),
    output:
        errors=f"{RESULTS}/autoencoder/{{experiment}}/{{part}}.errors.csv",
        pictures=f"{RESULTS}/autoencoder/{{experiment}}/{{part}}.pictures.csv",
    log:
        log_of("autoencoder/{experiment}/{part}"),
    benchmark:
        benchmark_of("autoencoder/{experiment}/{part}")
    wildcard_constraints:
        part="all|repeat-[0-9]+",
    conda:
        "../../envs/rnca.yaml"
    threads: settings.threads
    resources:
        mem_mb=growing(lambda w: autoencoder[w.experiment].mem_mb()),
        runtime=growing(60),
    params:
        request=autoencoder_fit.asked,
    script:
        "fit.py"


rule autoencoder_report:
    input:
        request=autoencoder_report.file,
        errors=gathered("autoencoder", "errors"),
        published="resources/paper/autoencoder.csv",
    output:
        exhibits("autoencoder", "tables"),
        f"{RESULTS}/tables/autoencoder.csv",
    log:
        log_of("autoencoder_report"),
    benchmark:
        benchmark_of("autoencoder_report")
    group:
        "report"
    conda:
        "../../envs/rnca.yaml"
    params:
        request=autoencoder_report.asked,
    script:
        "report.py"


# Apart from the report, which can be made again without the pictures: these are not published.
rule autoencoder_pictures:
    input:
        request=autoencoder_pictures.file,
        errors=gathered("autoencoder", "errors"),
        pictures=gathered("autoencoder", "pictures"),
    output:
        exhibits("autoencoder", "figures"),
    log:
        log_of("autoencoder_pictures"),
    benchmark:
        benchmark_of("autoencoder_pictures")
    group:
        "report"
    conda:
        "../../envs/rnca.yaml"
    params:
        request=autoencoder_pictures.asked,
    script:
        "figures.py"


# For `snakemake autoencoder`: this stage alone.
rule autoencoder:
    input:
        shown("autoencoder"),
