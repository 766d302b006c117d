"""Tables and figures, made from the CSVs of the stages and nothing else."""
