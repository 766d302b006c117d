"""Files of settings in YAML, refused where YAML would quietly drop or multiply what they say."""

import re
from pathlib import Path
from typing import Any

import yaml
from snakemake.exceptions import WorkflowError

# More than any settings have, and little enough to be checked in a moment.
_MOST_VALUES = 100_000


def load(file: Path) -> dict[str, Any]:
    """Read a mapping from a YAML file.

    It is refused if it gives a key twice, has aliases that multiply its content, or is to be run as
    a template.
    """
    try:
        loader = yaml.SafeLoader(file.read_bytes())
        node = loader.get_single_node()
        if not isinstance(node, yaml.MappingNode):
            raise ValueError("it must consist of keys and values")
        _check(node)
        found: dict[str, Any] = loader.construct_document(node)
    except RecursionError as error:
        raise WorkflowError("not a file of settings: it is nested too deeply") from error
    except (OSError, ValueError, yaml.YAMLError) as error:
        raise WorkflowError(f"not a file of settings in YAML: {error}") from error
    # Snakemake would run the Python code in such a file.
    if "__use_yte__" in found:
        raise WorkflowError("__use_yte__: settings are values, no templates; write them out")
    return found


def _check(top: yaml.Node) -> None:
    """Refuse keys that are given twice, odd numbers, and more values than settings have."""
    waiting = [top]
    for _ in range(_MOST_VALUES):
        node = waiting.pop()
        if isinstance(node, yaml.MappingNode):
            seen: set[str] = set()
            for key in (key for key, _ in node.value if isinstance(key, yaml.ScalarNode)):
                if key.value in seen:
                    raise ValueError(f"line {_line(key)}: the key {key.value!r} is given twice")
                seen.add(key.value)
            waiting += [part for pair in node.value for part in pair]
        elif isinstance(node, yaml.SequenceNode):
            waiting += node.value
        elif _is_odd_number(node):
            raise ValueError(f"line {_line(node)}: {node.value}: write numbers in decimal digits")
        if not waiting:
            return
    raise ValueError(f"more than {_MOST_VALUES} values, those of aliases each time they are used")


def _is_odd_number(node: yaml.Node) -> bool:
    """Tell whether a value would be read in base 8, as 0042 is, or in base 60, as 1:30 is."""
    is_number = node.tag in ("tag:yaml.org,2002:int", "tag:yaml.org,2002:float")
    return is_number and bool(re.fullmatch("[-+]?0[0-7_]+|.*:.*", node.value))


def _line(node: yaml.Node) -> int:
    return int(node.start_mark.line) + 1
