#!/bin/sh
# For clusters that forbid long processes on login nodes: Snakemake itself as a job, which submits the others.
# On the login node, in an environment that has snakemake, fetch the data first, then submit:
#   snakemake data --cores 1 --configfile config/paper.yaml
#   sbatch profiles/slurm/head.sh --configfile config/paper.yaml
#SBATCH --job-name=rnca-head
#SBATCH --time=3-00:00:00
#SBATCH --cpus-per-task=1
#SBATCH --mem=2G
exec snakemake --workflow-profile "${PROFILE:-profiles/slurm}" "$@"
