"""Figure 5: the mean relative error of 5,000 count queries against θ, with `similar` beside the seed's methods."""

from contextlib import suppress

from discreet.errors import DiscreetError
from discreet.microdata.demand import Demand
from discreet.microdata.multisize import multi_size_setting
from discreet.microdata.optimal import optimal_setting
from discreet.microdata.settings import Setting, two_size_setting
from experiments.buckets.people import People, census_people
from experiments.buckets.plot import draw_lines
from experiments.buckets.relative import QUERIES, Dealt, along, mean_errors, round_robin, sweep_keys
from experiments.buckets.setting import MAX_SIZE, THETAS, limits

SECONDS = 20
"""What the integer program may take."""


def settings_of(demand: Demand) -> dict[str, Setting]:
    """Each method's setting, where it has one."""
    counts, exact = demand.counts, demand.limits
    made = {
        "TwoSize": two_size_setting(counts, exact, max_size=MAX_SIZE),
        "MultiSize": multi_size_setting(counts, exact, max_size=MAX_SIZE),
    }
    with suppress(DiscreetError):
        made["Optimal"] = optimal_setting(counts, exact, max_size=MAX_SIZE, seconds=SECONDS)
    return made


def dealt_by_method(people: People, theta: int) -> dict[str, Dealt]:
    demand = Demand.of(people.counts, limits(theta))
    dealt = {name: round_robin(people, setting) for name, setting in settings_of(demand).items()}
    roomy = two_size_setting(demand.counts, demand.limits, MAX_SIZE // 2, MAX_SIZE)
    dealt["similar"] = along(people, roomy, demand, sweep_keys(people))
    return dealt


def relative_errors(people: People, number: int = QUERIES) -> dict[str, dict[float, float]]:
    """The mean relative error in percent of each method, by θ."""
    dealt = {(m, theta): made for theta in THETAS for m, made in dealt_by_method(people, theta).items()}
    lines: dict[str, dict[float, float]] = {}
    for (method, theta), error in mean_errors(people, dealt, number).items():
        lines.setdefault(method, {})[theta] = 100 * error
    return lines


def draw() -> None:
    panels = {f"Census-Income, {name}": relative_errors(census_people(name)) for name in ("occupation", "education")}
    draw_lines("fig5", panels, "θ", "relative error, %")
