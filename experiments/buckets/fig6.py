"""Figure 6: run time against the number of records."""

from experiments.buckets.plot import draw_lines
from experiments.buckets.runtime import run_times
from experiments.buckets.tables import generated

THOUSANDS = (100, 200, 300, 400, 500)


def draw() -> None:
    panels = {
        table: run_times({thousand: generated(table, 1000 * thousand) for thousand in THOUSANDS})
        for table in ("OCC", "EDU")
    }
    draw_lines("fig6", panels, "records, thousands", "seconds", logarithmic=True)
