"""Sentences about results: templates from ``prose.yaml``, filled with numbers by name."""

import json
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

import yaml
from jinja2 import Environment, StrictUndefined, UndefinedError

from workflow.lib.chart import plain
from workflow.lib.provenance import checked

_WORDS = dict(
    enumerate(["no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"])
)


def read_numbers(paths: Iterable[str]) -> dict[str, Any]:
    """Read ``<stage>/numbers.json`` of each stage of a run."""
    return {Path(path).parent.name: json.loads(checked(path)) for path in paths}


def known(
    numbers: Mapping[str, Any], ledger: Mapping[str, Any], standing_in: Sequence[str] = ()
) -> dict[str, Any]:
    """Collect what sentences may name: numbers of the stages, claims, and shorter names for some.

    ``ledger`` is the content of ``claims.json``.
    """
    papers = [claim for claim in ledger["claims"] if not claim["ours"]]
    counts = dict.fromkeys(ledger["counts"], 0) | {"all": len(papers)}
    for claim in papers:
        counts[claim["verdict"]] += 1
    rcca: Mapping[str, Any] = numbers.get("rcca", {})
    names: dict[str, Any] = {
        **numbers,
        "claims": {claim["id"].replace("-", "_"): claim for claim in ledger["claims"]},
        "counts": counts,
        "stages": [*numbers],
        "standing_in": standing_in,
    }
    series = "xrmb_z_scored"
    if series in rcca.get("series", {}):
        names["speech"] = rcca["series"][series]
    if "utterances" in rcca.get("chosen", {}).get(series, {}):
        names["held_out"] = rcca["chosen"][series]["utterances"]
    for model in rcca.get("models", []):
        names.setdefault("own", model)  # the best one
        names |= {"linear": model} if model["map"] == "linear" else {}
    return names


def tell(names: Mapping[str, Any]) -> dict[str, str]:
    """Return the sentences that can be said, by name."""
    found = {}
    for name, forms in templates().items():
        if name not in ("table", "sections"):
            forms = [{"text": forms}] if isinstance(forms, str) else forms
            if text := _first(forms, names):
                found[name] = text
    return found


def table(names: Mapping[str, Any]) -> str:
    """Lay out README's table of results."""
    rows = ["| question | answer | paper → ours |", "|---|---|---|"]
    texts = {row["question"]: _first(row["forms"], names) for row in templates()["table"]}
    rows += [f"| {question} | {text} |" for question, text in texts.items() if text]
    return "\n".join(rows) + "\n"


@cache
def templates() -> dict[str, Any]:
    """Return what ``prose.yaml`` has."""
    text = files("workflow.lib").joinpath("prose.yaml").read_text(encoding="utf-8")
    content: dict[str, Any] = yaml.safe_load(text)
    return content


def _first(forms: Sequence[Mapping[str, str]], names: Mapping[str, Any]) -> str:
    """Fill the first form whose premise holds and whose numbers are known; none is empty."""
    for form in forms:
        try:
            if _JINJA.compile_expression(form.get("if", "true"), undefined_to_none=False)(**names):
                return _JINJA.from_string(form["text"]).render(**names)
        except UndefinedError:
            continue
    return ""


def shown(value: float, digits: int = 0) -> str:
    """Write a number with thousands apart and so many decimals."""
    return plain(value, f",.{digits}f")


def signed(value: float, digits: int = 0) -> str:
    """Write a number with its sign."""
    return plain(value, f"+,.{digits}f")


def time(minutes: float) -> str:
    """Write a time as one would say it: 40 seconds, 2.4 minutes, 13 hours."""
    for unit, value in (("second", 60 * minutes), ("minute", minutes), ("hour", minutes / 60)):
        if value < 95 or unit == "hour":
            text = f"{value:.0f}" if value >= 9.5 else f"{value:.1f}".removesuffix(".0")
            return f"{text} {unit}{'' if text == '1' else 's'}"
    raise AssertionError


def words(count: int) -> str:
    """Write a count as a word at the beginning of a sentence, a large one in digits."""
    return _WORDS.get(count, str(count)).capitalize()


def listed(values: Sequence[float]) -> str:
    """List the first four correlations."""
    return ", ".join(shown(value, 2) for value in values[:4]) + (", …" if len(values) > 4 else "")


class _Unknown(StrictUndefined):
    """A number that no report wrote: no sentence can be said with it, also not formatted."""

    __format__ = StrictUndefined._fail_with_undefined_error


_JINJA = Environment(undefined=_Unknown, autoescape=False, trim_blocks=True)
_JINJA.filters |= {
    "f": shown, "signed": signed, "time": time, "words": words, "listed": listed,
    "ternary": lambda condition, yes, no: yes if condition else no,
}  # fmt: skip
