"""The tables of keys in config/README.md, made from the settings' models."""

from collections.abc import Iterable
from inspect import getdoc
from pathlib import Path
from typing import Any

import yaml
from pydantic import BaseModel
from pydantic.fields import FieldInfo

from workflow.lib.exhibits import stage_names
from workflow.lib.settings import KeyPath, keys, run_model, stage_model

START = "<!-- `make settings` writes what follows from the settings' models; edit those. -->"
END = "<!-- Here it ends. -->"


def write_tables(readme: Path) -> None:
    """Write the tables into config/README.md."""
    readme.write_text(with_tables(readme.read_text(encoding="utf-8")), encoding="utf-8")


def with_tables(readme: str) -> str:
    """Return the text of config/README.md with its tables made anew."""
    before, _, rest = readme.partition(START)
    _, _, after = rest.partition(END)
    blocks = ["## Top level", _table(keys(run_model()))]
    for name in stage_names():
        model = stage_model(name)
        place, found = name, list(keys(model))
        if all(path[0] == "<name>" for path, _ in found):
            place, found = f"{name}.<name>", [(path[1:], field) for path, field in found]
        blocks += [f"## Keys of `{place}`", getdoc(model) or "", _table(found)]
    return before + "\n\n".join([START, *blocks, END]) + after


def _table(found: Iterable[tuple[KeyPath, FieldInfo]]) -> str:
    """Write keys as a Markdown table; those that differ in their place alone share a row."""
    rows: dict[tuple[Any, ...], list[str]] = {}
    for path, field in found:
        rest = path[-1], _default(field), (field.description or "").removesuffix(".")
        rows.setdefault(rest, []).append(f"`{'.'.join(map(str, path))}`")
    lines = ["| key | default | meaning |", "|---|---|---|"]
    for (_, default, meaning), paths in rows.items():
        lines.append(f"| {', '.join(paths)} | {default} | {meaning} |")
    return "\n".join(lines)


def _default(field: FieldInfo) -> str:
    """Write a default as one would write it in the file."""
    if field.is_required():
        return "required"
    default = field.get_default(call_default_factory=True)
    if default is None:
        return "none"
    if isinstance(default, BaseModel):
        default = default.model_dump(mode="json")
    text = yaml.safe_dump(default, default_flow_style=True, width=1000, sort_keys=False)
    return f"`{text.splitlines()[0]}`"
