"""Settings of stage autoencoder, and what its jobs cost."""

from collections.abc import Iterator, Mapping
from math import ceil
from typing import ClassVar, Literal

from pydantic import Field

from workflow.data.catalogue import Facts, facts_of
from workflow.lib import models
from workflow.lib.jobs import Job, Kind
from workflow.lib.models import Count, Distinct, Experiments, Positive, Repeats
from workflow.lib.resources import PROCESSES_MB


class Search(models.Settings):
    """What widths and regularisers are chosen from."""

    share: float = Field(
        default=0.2,
        gt=0,
        le=1,
        description="share of the training and tuning rows that candidates are compared on",
    )
    encoder: Distinct[Positive] = Field(
        default=[0.3, 0.1, 0.03],
        description="widths of the encoder, as multiples of the median heuristic's gamma",
    )
    decoder: Distinct[Positive] = Field(
        default=[0.01, 0.003, 0.001],
        description="widths of the decoder, as multiples of the median heuristic's gamma",
    )
    widen: int = Field(
        default=3,
        ge=0,
        description="how often widths are added while the best one is the smallest or largest",
    )
    regs: Distinct[Positive] = Field(
        default=[10.0**exponent for exponent in range(-14, -2)],
        description="regularisers, added to the diagonal of the covariance of the decoder's "
        "features",
    )


class Experiment(models.Experiment):
    """Autoencoders of one dataset at one number of latent factors."""

    needs = ("images",)

    components: Count = Field(description="number of latent factors d")
    features: Count = Field(
        description="number of random features m of the encoder, and as many of the decoder; "
        "more than `components`"
    )
    white: Positive = Field(
        255.0,
        description="the pixel value that counts as 1; "
        "the width of the authors' code depends on the unit",
    )
    ridge: float = Field(
        1e-6,
        ge=0,
        description="added to the sums of squares of the decoder's features (the authors'); "
        "the methods with chosen widths have a chosen one",
    )
    search: Search = Field(Search(), description="what widths and regularisers are chosen from")
    shown: Count = Field(10, description="test pictures that are shown with their reconstructions")
    repeats: Repeats = Field(
        3, description="how often the split and the features are redrawn", exclude=True
    )
    jobs: Literal["one", "many"] = Field(
        "one",
        description="whether an experiment is `one` job, or each repeat one of its own (`many`)",
        exclude=True,
    )

    def parts(self) -> dict[str, list[int]]:
        """Return the repeats of each job: ``all`` in one, or ``repeat-0`` and so on."""
        repeats = list(range(self.repeats))
        return {"all": repeats} if self.jobs == "one" else {f"repeat-{i}": [i] for i in repeats}

    def problems(self, data: Facts) -> Iterator[str]:
        """Yield what is wrong with the numbers of factors and features."""
        yield from super().problems(data)
        d, m = self.components, self.features
        if d >= m:
            yield f"components: d = {d} must be less than features = {m}"
        if data.columns is not None and d > data.columns:
            yield (
                f"components: d = {d} is more than the {data.columns} pixels of a picture "
                f"of {self.dataset!r}"
            )

    def mem_mb(self) -> int:
        """Return the memory of a part, in millions of bytes.

        That is the moments of both passes and the eigenvectors' working space, chunks of features
        and pixels, and what Python and its libraries take.
        """
        pixels = facts_of(self.dataset).columns or 0
        m = self.features
        matrices = 3 * max(m, pixels) ** 2 + 3 * m * pixels + 2 * m**2
        chunks = 6 * 2048 * (m + pixels)
        return PROCESSES_MB + ceil(8 * (matrices + chunks) / 1e6)


class Autoencoder(Experiments[Experiment]):
    """Pictures reconstructed from a few numbers (Section 5.4): experiments by name."""

    kinds: ClassVar[Mapping[str, Kind]] = {
        "fit": Kind("stages/autoencoder/fit.py", ("errors", "pictures"))
    }
    paper: ClassVar[Mapping[str, str]] = {"published": "autoencoder.csv"}

    def jobs(self, seed: int) -> Iterator[Job]:
        """Yield every job of the stage."""
        for name, each in self.items():
            for part, repeats in each.parts().items():
                asked = each.job(name=name, seed=seed, repeats=repeats)
                size, data = each.mem_mb(), each.dataset
                yield Job("autoencoder", "fit", name, part, asked, size, data)


SETTINGS = Autoencoder
