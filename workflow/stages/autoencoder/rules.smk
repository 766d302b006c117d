# Stage autoencoder: reconstruction of unseen pictures, beside linear PCA (Section 5.4).
# A part is a repeat, or all of an experiment.
autoencoder_fit = plan.rows("autoencoder", "fit")
autoencoder_tables = plan.report("autoencoder")


rule autoencoder_fit:
    input:
        **autoencoder_fit.inputs,
    output:
        **autoencoder_fit.outputs,
    log:
        autoencoder_fit.log,
    benchmark:
        autoencoder_fit.benchmark
    conda:
        "../../envs/rnca.yaml"
    threads: settings.threads
    resources:
        **autoencoder_fit.resources,
    script:
        "fit.py"


rule autoencoder_report:
    input:
        **autoencoder_tables.inputs,
    output:
        **autoencoder_tables.outputs,
    log:
        autoencoder_tables.log,
    benchmark:
        autoencoder_tables.benchmark
    group:
        "report"
    conda:
        "../../envs/rnca.yaml"
    script:
        "report.py"
