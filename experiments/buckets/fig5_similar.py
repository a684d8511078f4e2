"""Beyond the seed: what keeping people together is worth by the order and the sizes, and what it gives away."""

import numpy as np
from numpy.typing import NDArray

from discreet.microdata.demand import Demand
from discreet.microdata.measure import GuessedShares, measure_guesses
from discreet.microdata.multisize import multi_size_setting
from discreet.microdata.settings import Setting, two_size_setting
from experiments.buckets.people import People, census_people
from experiments.buckets.plot import write_rows
from experiments.buckets.relative import Dealt, along, mean_errors, morton_keys, round_robin, sweep_keys
from experiments.buckets.setting import DEFAULT_THETA, MAX_SIZE, limits

SAMPLE = 50_000


def guesses(people: People, dealt: Dealt) -> GuessedShares:
    """What learners guess of the people in some of the buckets, chosen by lot."""
    number = np.random.default_rng(2).permutation(len(dealt.starts) - 1)[dealt.bucket]
    order = np.argsort(number, kind="stable")
    kept = order[number[order] <= number[order[min(SAMPLE, len(order)) - 1]]]
    axes = people.by_entropy
    columns: NDArray[np.int64] = np.column_stack([people.codes[kept][:, axes], people.values[kept]])
    return measure_guesses(number[kept], columns, [people.sizes[axis] for axis in axes], len(people.counts))


def ways(people: People, theta: int) -> dict[str, tuple[Setting, Dealt]]:
    """Ways to deal, from the seed's to what `similar` does."""
    demand = Demand.of(people.counts, limits(theta))
    multi = multi_size_setting(demand.counts, demand.limits, max_size=MAX_SIZE)
    two = two_size_setting(demand.counts, demand.limits, max_size=MAX_SIZE)
    roomy = two_size_setting(demand.counts, demand.limits, MAX_SIZE // 2, MAX_SIZE)
    sweep, morton = sweep_keys(people), morton_keys(people)
    return {
        "MultiSize, round-robin": (multi, round_robin(people, multi)),
        "TwoSize, round-robin": (two, round_robin(people, two)),
        "sizes 25 to 50, round-robin": (roomy, round_robin(people, roomy)),
        "MultiSize, sweep": (multi, along(people, multi, demand, sweep)),
        "TwoSize, sweep": (two, along(people, two, demand, sweep)),
        "sizes 25 to 50, Morton": (roomy, along(people, roomy, demand, morton)),
        "sizes 25 to 50, sweep": (roomy, along(people, roomy, demand, sweep)),
    }


def draw() -> None:
    rows = []
    for name in ("occupation", "education"):
        people = census_people(name)
        made = ways(people, DEFAULT_THETA)
        errors = mean_errors(people, {way: dealt for way, (_, dealt) in made.items()})
        for way, (setting, dealt) in made.items():
            learnt = guesses(people, dealt)
            shares = (learnt.blind, learnt.order, learnt.definetti)
            rows.append(
                (name, way, f"{setting.mse:.2f}", f"{100 * errors[way]:.2f}", *(f"{100 * s:.1f}" for s in shares))
            )
    header = ("table", "dealt", "MSE", "relative error, %", "guessed blindly, %", "by order, %", "by a learner, %")
    write_rows("fig5_similar", header, rows)
