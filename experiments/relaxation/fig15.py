"""Figure 15: quality of relaxation against the queries' volume."""

from experiments.relaxation.setting import VOLUMES
from experiments.relaxation.sweep import quality_figure


def draw() -> None:
    quality_figure("fig15", "volume", VOLUMES, "query volume s")
