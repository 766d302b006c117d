# What all rule files share: the checked settings, places, and the list of final outputs.
import sys
from pathlib import Path

sys.path.insert(0, str(Path(workflow.basedir) / "workflow"))

import settings
from code_version import code_version

settings.check(config)

PREPARED = "data/prepared"
RESULTS = f"results/{config['run']}"
PAPER = "resources/paper"


wildcard_constraints:
    dataset="[a-z0-9-]+",
    experiment="[a-z0-9-]+",
    feature_map="[a-z]+",
    repeat=r"\d+",
    shard=r"\d+",


def final_outputs():
    """Everything a run leaves for its reader."""
    return [
        f"{RESULTS}/tables/rcca.md",
        f"{RESULTS}/figures/rcca.svg",
        f"{RESULTS}/summary.txt",
    ]
