"""Fit once and print, as JSON, the peak anonymous memory beyond what was there before.

Usage: fit_memory.py DIRECTORY ROWS FEATURES COMPONENTS ACCUMULATION

Anonymous memory (RssAnon of /proc/self/status) leaves out pages of the memory-mapped inputs. The
largest of samples taken every few milliseconds stands for the peak: the kernel keeps one only for
all pages together.
"""

import json
import sys
import threading
from pathlib import Path

from large import open_rows
from rnca import RCCA
from sizes import REG, SEED

_EVERY_SECONDS = 0.003


def anonymous_bytes() -> int:
    """Anonymous memory of this process now."""
    for line in Path("/proc/self/status").read_text(encoding="ascii").splitlines():
        if line.startswith("RssAnon:"):
            return int(line.split()[1]) * 1024
    raise RuntimeError("/proc/self/status has no RssAnon: it needs Linux 4.5 or newer.")


class Peak(threading.Thread):
    """Watches anonymous memory until stopped."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.bytes = 0
        self.stopped = threading.Event()

    def run(self) -> None:
        """Take samples."""
        while not self.stopped.wait(_EVERY_SECONDS):
            self.bytes = max(self.bytes, anonymous_bytes())


def main(directory: str, rows: str, features: str, components: str, accumulation: str) -> None:
    """Fit and print."""
    x, y = open_rows(Path(directory), int(rows))
    model = RCCA(
        int(components),
        n_features=int(features),
        reg=REG,
        random_state=SEED,
    )
    before, watch = anonymous_bytes(), Peak()
    watch.start()
    model.fit(x, y)
    watch.stopped.set()
    watch.join()
    found = {
        "accumulation": accumulation,
        "before_bytes": before,
        "peak_bytes": max(watch.bytes, anonymous_bytes()) - before,
        "input_bytes": x.nbytes + y.nbytes,
    }
    print(json.dumps(found))


if __name__ == "__main__":
    main(*sys.argv[1:])
