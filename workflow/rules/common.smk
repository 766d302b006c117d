# What all rule files share: the checked settings and the plan made from them.
import sys
from pathlib import Path

sys.path.insert(0, str(Path(workflow.basedir) / "workflow"))

import settings
from code_version import code_version
from plan import PREPARED, Plan

settings.check(config)
plan = Plan(config)
RESULTS = plan.results
