"""Sizes of a benchmark run: the full one, and a quick one for trying things out."""

from dataclasses import dataclass, replace
from pathlib import Path

REG = 1e-8
SEED = 2014
MAPS = ("fourier", "nystroem")


@dataclass(frozen=True)
class Settings:
    """What is measured, and how often.

    Attributes
    ----------
    n : int
        Rows of the fits.
    few : int
        Rows for peers that would take hours at n.
    sizes : tuple of int
        Numbers of features m of the roofline.
    path : tuple of int
        Numbers of features of the path.
    m : int
        Number of features in the comparisons, the memory and the serving part.
    components, many : int
        Canonical variables everywhere; and in the largest experiment of the paper, for which the
        truncated SVDs are timed as well.
    scaling_rows, scaling_sizes : tuple of int
        Rows at ``scaling_m`` features; features at ``scaling_n`` rows.
    scaling_m, scaling_n : int
    memory_rows, batches : tuple of int
    latencies : int
        Single rows whose latency is taken.
    repeats : int
        Repeats, of which medians are reported; fewer where one exceeds ``budget``.
    budget : float
        Seconds after which no further repeat of one measurement is begun.
    least : float
        Seconds for which what is quick, and BLAS's own product, is repeated at least.
    authors : Path or None
        The authors' R code.
    """

    n: int = 54_000
    few: int = 5_400
    sizes: tuple[int, ...] = (1000, 2000, 4000, 6000)
    path: tuple[int, ...] = (1000, 2000, 3000, 4000, 5000, 6000)
    m: int = 2000
    components: int = 50
    many: int = 112
    scaling_rows: tuple[int, ...] = (2_000, 6_000, 20_000, 60_000, 180_000, 540_000)
    scaling_m: int = 1000
    scaling_n: int = 20_000
    scaling_sizes: tuple[int, ...] = (500, 1000, 2000, 4000)
    memory_rows: tuple[int, ...] = (5_400, 54_000, 540_000)
    batches: tuple[int, ...] = (1, 32, 1024, 65_536)
    latencies: int = 5_000
    repeats: int = 3
    budget: float = 120.0
    least: float = 2.0
    authors: Path | None = None

    def up_to(self, most: int) -> "Settings":
        """Leave out what has more than ``most`` features."""

        def kept(sizes: tuple[int, ...]) -> tuple[int, ...]:
            return tuple(m for m in sizes if m <= most) or (most,)

        return replace(
            self,
            sizes=kept(self.sizes),
            path=kept(self.path),
            scaling_sizes=kept(self.scaling_sizes),
            m=min(self.m, most),
            scaling_m=min(self.scaling_m, most),
        )


QUICK = Settings(
    n=4_000,
    few=2_000,
    sizes=(100, 200, 400),
    path=(100, 200, 300, 400),
    m=200,
    components=10,
    many=20,
    scaling_rows=(500, 1_000, 2_000, 4_000, 8_000),
    scaling_m=100,
    scaling_n=2_000,
    scaling_sizes=(100, 200, 400),
    memory_rows=(2_000, 32_000),
    batches=(1, 32, 1024),
    latencies=200,
    repeats=2,
    budget=1.0,
    least=0.05,
)
