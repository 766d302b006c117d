"""Tables and figures of stage maps: kernel errors and correlations, seconds, numbers kept."""

import pandas as pd

from workflow.lib.figures import save
from workflow.lib.job import by_name, job
from workflow.lib.outcomes import read_outcomes
from workflow.lib.provenance import write_csv, write_text
from workflow.lib.published import beside_published
from workflow.lib.sentences import write_sentences
from workflow.stages.maps.figures import score_figure, size_figure, speed_figure
from workflow.stages.maps.fit import SCORE_COLUMNS
from workflow.stages.maps.sentences import on_scores, on_sizes, on_speeds
from workflow.stages.maps.sizes import model_sizes
from workflow.stages.maps.tables import (
    score_summary,
    score_table,
    size_table,
    speed_summary,
    speed_table,
    with_measured,
)
from workflow.stages.maps.times import TIME_COLUMNS

if __name__ == "__main__":
    with job(snakemake) as asked:
        given, out, titles = snakemake.input, by_name(snakemake.output), asked.titles
        published = pd.read_csv(given.published)

        scores, not_run = read_outcomes(given.scores, ["experiment", "dataset", *SCORE_COLUMNS])
        summary = beside_published(score_summary(scores), published, asked.published)
        write_csv(out["maps.csv"], summary)
        write_text(out["maps.md"], score_table(summary, not_run, titles))
        save(score_figure(summary, titles), out, "maps")

        times, not_timed = read_outcomes(given.times, ["experiment", *TIME_COLUMNS])
        speeds = speed_summary(times)
        write_csv(out["maps_speed.csv"], speeds)
        write_text(out["maps_speed.md"], speed_table(speeds, not_timed, titles))
        save(speed_figure(speeds, titles), out, "maps_speed")

        # At the numbers of features of the paper, whatever those of this run are.
        features = published["m"].dropna().astype(int).unique()
        baselines, _ = read_outcomes(given.get("baselines", []), [])
        sizes = with_measured(
            model_sizes(pd.read_csv(given.layers), features),
            baselines,
            published,
            asked.measured,
        )
        write_csv(out["maps_sizes.csv"], sizes)
        write_text(out["maps_sizes.md"], size_table(sizes))
        save(size_figure(sizes), out, "maps_sizes")

        sentences = {
            "maps": on_scores(summary, titles),
            "maps_speed": on_speeds(speeds),
            "maps_sizes": on_sizes(sizes),
        }
        write_sentences(out, sentences)
