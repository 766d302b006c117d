"""``python -m workflow.data``: list, fetch and prepare datasets, and check your own."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

try:
    import requests
    import yaml

    from workflow.data import own
    from workflow.data.catalogue import CATALOGUE, availability, dataset, prepare
    from workflow.data.errors import DataError, FetchError
    from workflow.data.fetch import default_cache, fetch_source
    from workflow.data.sources import Bundle, Url
except ModuleNotFoundError as missing:
    sys.exit(f"error: {missing.name} is not installed; datasets need: pip install 'rnca[workflow]'")

_SUFFIXES = {".npz": "npz", ".npy": "npy", ".csv": "csv", ".mat": "mat"}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; return its exit status."""
    options = _parser().parse_args(arguments)
    try:
        options.run(options)
    except (DataError, FetchError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


def _list(options: argparse.Namespace) -> None:
    cache = options.cache or default_cache()
    rows = [("name", "fetched", "prepared", "available", "what it is")]
    for entry in CATALOGUE.values():
        if entry.source is None:
            size = "-"
        else:
            size = f"{entry.source.size / 1e6:.0f} MB" if entry.source.size else "unknown"
        rows.append(
            (entry.name, size, f"{entry.prepared_mb} MB", availability(entry, cache), entry.title)
        )
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        print("  ".join(cells).rstrip())


def _fetch(options: argparse.Namespace) -> None:
    entry = dataset(options.name)
    if entry.source is None:
        print(f"{entry.name} is embedded: nothing to fetch")
        return
    files = fetch_source(entry.source, options.cache)
    for name, path in files.items():
        print(f"{name}: {path}")


def _prepare(options: argparse.Namespace) -> None:
    made = prepare(options.name, options.destination, cache=options.cache)
    for name, array in made.arrays.items():
        print(f"{name}: {' × '.join(map(str, array.shape))} {array.dtype}")


def _check(options: argparse.Namespace) -> None:
    entry: dict[str, Any] = {"kind": options.kind or _kind(options.x)}
    for key in ("x", "y", "split", "groups"):
        file = getattr(options, key)
        if file is not None:
            array = getattr(options, f"{key}_array")
            entry[key] = {"file": file, "array": array} if array else file
    content = own.read(options.name, entry)
    shapes = [
        f"{name} {' × '.join(map(str, array.shape))}" for name, array in content.arrays.items()
    ]
    print(
        f"# valid: {', '.join(shapes)}\n" + yaml.safe_dump({options.name: entry}, sort_keys=False),
        end="",
    )


def _addresses(_options: argparse.Namespace) -> None:
    """Ask every address for its headers, and name those that do not answer."""
    dead = []
    sources = [entry.source for entry in CATALOGUE.values() if entry.source is not None]
    files = [form for source in sources for file in source.files.values() for form in file.forms()]
    origins = [origin for file in files for origin in file.origins]
    bundled = [each.archive for each in origins if isinstance(each, Bundle)]
    origins += [origin for archive in bundled for origin in archive.origins]
    addresses = {origin.address for origin in origins if isinstance(origin, Url)}
    for address in sorted(addresses):
        try:
            requests.head(address, allow_redirects=True, timeout=60).raise_for_status()
        except requests.RequestException as error:
            dead.append(f"{address}: {error}")
    print(f"{len(addresses) - len(dead)} of {len(addresses)} addresses answer")
    if dead:
        raise FetchError("\n".join(dead))


def _kind(file: str) -> str:
    suffix = Path(file).suffix.lower()
    if suffix not in _SUFFIXES:
        raise DataError(f"{file}: ends in {suffix!r}, known are {sorted(_SUFFIXES)}; give --kind")
    return _SUFFIXES[suffix]


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m workflow.data", description=__doc__)
    commands = parser.add_subparsers(required=True, metavar="command")
    fetching = argparse.ArgumentParser(add_help=False)
    fetching.add_argument("--cache", type=Path, help="default: RNCA_CACHE, else data/cache")

    listing = commands.add_parser("list", parents=[fetching], help="what each dataset needs")
    listing.set_defaults(run=_list)
    fetch = commands.add_parser("fetch", parents=[fetching], help="fill the cache")
    fetch.add_argument("name")
    fetch.set_defaults(run=_fetch)
    make = commands.add_parser("prepare", parents=[fetching], help="fetch and prepare")
    make.add_argument("name")
    make.add_argument("destination", type=Path)
    make.set_defaults(run=_prepare)
    addresses = commands.add_parser("addresses", help="try every address of every dataset")
    addresses.set_defaults(run=_addresses)
    _add_check(commands.add_parser("check", help="validate two files, print their config entry"))
    return parser


def _add_check(check: argparse.ArgumentParser) -> None:
    check.add_argument("x", metavar="X-FILE")
    check.add_argument("y", metavar="Y-FILE")
    check.add_argument("--name", default="mydata", help="of the dataset (default: mydata)")
    check.add_argument("--kind", choices=own.KINDS, help="default: by the ending of X-FILE")
    check.add_argument("--split", metavar="FILE", help="0/1/2 or train/tune/test for each row")
    check.add_argument("--groups", metavar="FILE", help="rows of one group stay in one part")
    for key in ("x", "y", "split", "groups"):
        check.add_argument(f"--{key}-array", metavar="NAME", help="where a file holds several")
    check.set_defaults(run=_check)


if __name__ == "__main__":
    sys.exit(main())
