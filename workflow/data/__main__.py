"""``python -m workflow.data``: list, fetch and prepare datasets, and check your own."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

try:
    import numpy as np
    import requests
    import yaml
    from pydantic import ValidationError

    from workflow.data import DataError, FetchError, own
    from workflow.data.catalogue import CATALOGUE, availability, dataset, prepare
    from workflow.data.fetch import default_cache, fetch_source
    from workflow.data.prepared import Content, check_arrays
    from workflow.data.sources import Bundle, Url
except ModuleNotFoundError as missing:
    sys.exit(f"error: {missing.name} is not installed; datasets need: pip install 'rnca[workflow]'")


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
    for name, path in fetch_source(entry.source, options.cache).items():
        print(f"{name}: {path}")


def _prepare(options: argparse.Namespace) -> None:
    made = prepare(options.name, options.destination, cache=options.cache)
    for name, array in made.arrays.items():
        print(f"{name}: {_times(array.shape)} {array.dtype}")


def _check(options: argparse.Namespace) -> None:
    for file in (options.x, options.y):
        if file is not None and not Path(file).is_file():
            raise DataError(f"no file {file} under {Path.cwd()}")
    if options.y is None:
        _take_both(options)
    places = {}
    for key in ("x", "y", "split", "groups"):
        file, array = getattr(options, key), getattr(options, f"{key}_array")
        is_csv = file is not None and Path(file).is_file() and own.kind_of(Path(file)) == "csv"
        more = {"array": array, "header": options.header if is_csv else None}
        given = {name: value for name, value in more.items() if value is not None}
        if file is not None:
            places[key] = {"file": file, **given} if given else file
    try:
        entry = own.OwnDataset.model_validate(places)
    except ValidationError as error:
        raise DataError(str(error)) from error
    content = own.read(options.name, entry)
    check_arrays(options.name, content.arrays)
    print("# valid. Are these the rows and columns you mean?")
    for name, array in content.arrays.items():
        print(f"#   {name}: {_times(array.shape)}; first row {_first(content, name)}")
    print(yaml.safe_dump({options.name: places}, sort_keys=False), end="")


def _take_both(options: argparse.Namespace) -> None:
    """Find the two views in one file, or list what it holds."""
    shapes = own.arrays_of(Path(options.x))
    if not shapes:
        raise DataError(f"{options.x}: holds one array; name the file of the other view too")
    options.y = options.x
    if options.x_array and options.y_array:
        return
    names = {name.lower(): name for name in shapes}
    views = [names["x"], names["y"]] if {"x", "y"} <= names.keys() else list(shapes)
    if len(views) != 2:
        listed = "".join(f"\n  {name!r}: {_times(shape)}" for name, shape in shapes.items())
        raise DataError(
            f"{options.x}: say which arrays are the views, with --x-array and --y-array:{listed}"
        )
    options.x_array, options.y_array = views


def _first(content: Content, array: str) -> str:
    values = np.atleast_1d(content.arrays[array][0]).ravel()
    shown = [f"{value:.6g}" for value in values[:5]]
    if names := content.meta["columns"].get(array):
        shown = [f"{name} = {value}" for name, value in zip(names, shown, strict=False)]
    return ", ".join(shown) + (", …" if len(values) > 5 else "")


def _times(shape: Sequence[int]) -> str:
    return " × ".join(map(str, shape))


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
    check.add_argument("y", metavar="Y-FILE", nargs="?", help="default: X-FILE, if it holds both")
    check.add_argument("--name", default="mydata", help="of the dataset (default: mydata)")
    check.add_argument("--split", metavar="FILE", help="0/1/2 or train/tune/test for each row")
    check.add_argument("--groups", metavar="FILE", help="rows of one group stay in one part")
    for key in ("x", "y", "split", "groups"):
        check.add_argument(f"--{key}-array", metavar="NAME", help="where a file holds several")
    check.add_argument(
        "--header",
        action=argparse.BooleanOptionalAction,
        help="whether the first line of a CSV names its columns",
    )
    check.set_defaults(run=_check)


if __name__ == "__main__":
    sys.exit(main())
