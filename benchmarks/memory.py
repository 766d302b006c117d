"""Peak anonymous memory of a fit in a process of its own, against the number of rows.

Anonymous memory (RssAnon of /proc/self/status) leaves out pages of the memory-mapped inputs. The
kernel keeps no peak of it: samples are taken every few milliseconds.
"""

import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

from benchmarks.common import CHUNK, Data, Row, Settings, estimator, rows_on_disk, say

_STATUS = Path("/proc/self/status")
_SAMPLE_SECONDS = 0.003


def memory(settings: Settings, data: Data) -> Iterator[Row]:
    """Fit in a process of its own for each number of rows."""
    if not _STATUS.is_file():
        raise RuntimeError(f"{_STATUS} is not there: memory is measured on Linux only.")
    m = settings.m
    data.write_longer(max(settings.memory_n))
    for n in settings.memory_n:
        say(f"memory: n = {n}")
        arguments = map(str, (data.directory, n, m, settings.components))
        done = subprocess.run(
            [sys.executable, "-m", "benchmarks.memory", *arguments],
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode != 0:
            raise RuntimeError(f"The fit of n = {n} rows failed:\n{done.stderr}")
        # Three moments and D, and the features of both views in two chunks.
        expected = 4 * 8 * m**2 + 2 * 2 * 8 * CHUNK * m
        yield {"n": n, "m": m, **json.loads(done.stdout), "expected_MB": expected / 1e6}


def _anonymous_bytes() -> int:
    for line in _STATUS.read_text(encoding="ascii").splitlines():
        if line.startswith("RssAnon:"):
            return int(line.split()[1]) * 1024
    raise RuntimeError(f"{_STATUS} has no RssAnon: it needs Linux 4.5 or newer.")


def main(directory: str, n: str, m: str, components: str) -> None:
    """Fit once and print the peak of memory beyond what was there before."""
    x, y = rows_on_disk(Path(directory), int(n))
    before = _anonymous_bytes()
    samples = [before]
    ended = threading.Event()

    def sample() -> None:
        while not ended.wait(_SAMPLE_SECONDS):
            samples.append(_anonymous_bytes())

    watch = threading.Thread(target=sample)
    watch.start()
    try:
        model = estimator(int(components), int(m)).fit(x, y)
        samples.append(_anonymous_bytes())
        del model
    finally:
        ended.set()
        watch.join()
    peak, inputs = max(samples) - before, x.nbytes + y.nbytes
    print(json.dumps({"peak_MB": peak / 1e6, "input_MB": inputs / 1e6}))


if __name__ == "__main__":
    main(*sys.argv[1:])
