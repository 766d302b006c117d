"""What the screen shows while jobs run: a line per stage, instead of Snakemake's per job.

On a terminal the lines are live; elsewhere each is printed when its stage is finished. Warnings and
errors come through as Snakemake formats them. ``VERBOSE=1`` leaves the screen to Snakemake.
"""

import logging
import os
import shutil
import sys
import threading
import time
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from typing import Any

from snakemake_interface_logger_plugins.common import LogEvent

_REDRAW_SECONDS = 1.0


@dataclass
class Progress:
    """The jobs of one stage."""

    total: int = 0
    done: int = 0
    failed: int = 0
    began: float | None = None
    running: dict[int, str] = field(default_factory=dict)

    @property
    def is_finished(self) -> bool:
        """Whether no job is left."""
        return self.done + self.failed >= self.total and not self.running


class Screen(logging.Handler):
    """Replaces Snakemake's ``plain`` handler, which still gets what should be seen as it is.

    Rules are named after their stage: ``rcca_fit``; all others belong to data and report. Whether
    this is a dry run is asked at each record: Snakemake does not know it while it reads the rules.
    """

    def __init__(self, plain: Any, stages: Collection[str], is_dry_run: Callable[[], bool]) -> None:
        super().__init__()
        self.plain, self.stages, self.is_dry_run = plain, stages, is_dry_run
        self.stream = plain.stream
        self.is_live = bool(self.stream.isatty())
        self.progress: dict[str, Progress] = {}
        self.drawn = 0
        if self.is_live:
            threading.Thread(target=self._redraw_for_ever, daemon=True).start()

    def emit(self, record: logging.LogRecord) -> None:
        """Take note of an event, or pass it on."""
        event = getattr(record, "event", None)
        if self.is_dry_run():
            self.plain.handle(record)
        elif event == LogEvent.RUN_INFO:
            for rule, count in record.stats.items():  # type: ignore[attr-defined]
                if rule not in ("total", "all", *self.stages):
                    self._of(rule).total += count
        elif event == LogEvent.JOB_INFO:
            self._start(record)
        elif event == LogEvent.JOB_FINISHED:
            self._finish(record.job_id, failed=False)  # type: ignore[attr-defined]
        elif event == LogEvent.JOB_ERROR or record.levelno >= logging.WARNING:
            if event == LogEvent.JOB_ERROR:
                self._finish(record.jobid, failed=True)  # type: ignore[attr-defined]
            self._clear()
            self.plain.handle(record)
        elif record.getMessage().startswith("Nothing to be done"):
            self.plain.handle(record)
        self._draw()

    def close(self) -> None:
        """Leave the last state on the screen."""
        with self.lock or threading.RLock():
            self._draw()
            self.is_live, self.drawn = False, 0
        super().close()

    def _of(self, rule: str) -> Progress:
        stage = rule.partition("_")[0]
        if stage not in self.stages:
            stage = "data" if rule in ("fetch", "prepare", "data", "data_table") else "report"
        return self.progress.setdefault(stage, Progress())

    def _start(self, record: Any) -> None:
        if record.rule_name in ("all", *self.stages):
            return  # a target, which computes nothing
        progress = self._of(record.rule_name)
        words = [record.rule_name.partition("_")[2], *map(str, (record.wildcards or {}).values())]
        progress.running[record.jobid] = " ".join(filter(None, words))
        progress.began = progress.began or time.monotonic()
        # A checkpoint may have added jobs.
        progress.total = max(progress.total, progress.done + len(progress.running))

    def _finish(self, job: int, failed: bool) -> None:
        for stage, progress in self.progress.items():
            if progress.running.pop(job, None) is not None:
                progress.done += not failed
                progress.failed += failed
                if progress.is_finished and not self.is_live:
                    print(self._line(stage, progress), file=self.stream, flush=True)

    def _line(self, stage: str, progress: Progress) -> str:
        sign = "✗" if progress.failed else "✓" if progress.is_finished else " "
        seconds = 0 if progress.began is None else int(time.monotonic() - progress.began)
        clock = f"{seconds // 60}:{seconds % 60:02}"
        failed = f", {progress.failed} failed" if progress.failed else ""
        doing = "; ".join(progress.running.values())
        count = f"{progress.done}/{progress.total}"
        return f"{sign} {stage:<12} {count:>7}  {clock:>8}{failed}  {doing}".rstrip()

    def _draw(self) -> None:
        if not self.is_live or self.is_dry_run():
            return
        width = shutil.get_terminal_size().columns - 1
        shown = [name for name in ("data", *self.stages, "report") if name in self.progress]
        lines = [self._line(name, self.progress[name])[:width] for name in shown]
        self._clear()
        self.stream.write("".join(f"{line}\n" for line in lines))
        self.stream.flush()
        self.drawn = len(lines)

    def _clear(self) -> None:
        if self.is_live and self.drawn:
            self.stream.write(f"\x1b[{self.drawn}F\x1b[J")
        self.drawn = 0

    def _redraw_for_ever(self) -> None:
        while self.is_live:
            time.sleep(_REDRAW_SECONDS)
            with self.lock or threading.RLock():
                if any(each.running for each in self.progress.values()):
                    self._draw()


def take_over(logger: Any, stages: Collection[str], is_dry_run: Callable[[], bool]) -> None:
    """Put a `Screen` in the place of Snakemake's handler for the screen, unless VERBOSE is set."""
    for stream in (sys.stdout, sys.stderr):  # a terminal may not know every sign
        stream.reconfigure(errors="replace")  # type: ignore[union-attr]
    for handler in [*logger.handlers]:
        if handler.name == "DefaultStreamHandler" and not os.environ.get("VERBOSE"):
            logger.removeHandler(handler)
            logger.addHandler(Screen(handler, stages, is_dry_run))
