"""The reproduction of the paper as a Snakemake workflow; never installed."""
