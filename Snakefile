# The workflow is workflow/Snakefile, where the catalog and other workflows look for it.
include: "workflow/Snakefile"


workflow.default_target = "all"  # which an included file cannot say
