"""Every number that a page of experiments says is in the CSV files beside its pictures, or is a setting."""

import csv
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal
from pathlib import Path

PAGES = Path(__file__).parents[2] / "docs" / "experiments"

NUMBER = re.compile(r"(?<![\w.])\d[\d,]*(?:\.\d+)?(?!\w)")
NO_TEXT = re.compile(
    r"!?\[[^]]*\]\([^)]*\)|`[^`]*`|^#+ .*$|\d{4}-\d{2}-\d{2}|Figures? \d[\d.]*(?: (?:to|and) [\d.]+)*",
    re.M,
)


def rows_of(page, name):
    with (PAGES / page / f"{name}.csv").open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def pick(rows, column, **where):
    """The number of the one row that has these values."""
    found = [row for row in rows if all(row[name] == str(value) for name, value in where.items())]
    assert len(found) == 1, (where, found)
    return float(found[0][column])


@dataclass(frozen=True)
class Claim:
    """A sentence of a page with {} for each number, and the numbers as the page writes them."""

    sentence: str
    numbers: Sequence[object]

    @property
    def said(self):
        return self.sentence.format(*self.numbers)


def check_page(page, claims, settings):
    """Assert that a page says every claim, and no number but theirs and those of its settings."""
    text = re.sub(r"\s+", " ", NO_TEXT.sub(" ", (PAGES / f"{page}.md").read_text(encoding="utf-8")))
    for claim in claims:
        assert claim.said in text, claim.said
        text = text.replace(claim.said, " ")
    stray = [number.rstrip(",") for number in NUMBER.findall(text) if number.rstrip(",") not in settings]
    assert not stray, stray


def percent(ratio):
    return f"{100 * ratio:.0f}%"


def hundredths(number):
    """To two digits, halves up: a CSV has few digits, and halves come of rounding."""
    return Decimal(str(number)).quantize(Decimal("0.01"), ROUND_HALF_UP)


def relaxation_claims():
    eleven = rows_of("relaxation", "fig11")[-1]
    twelve, thirteen, fourteen = (rows_of("relaxation", f"fig{number}") for number in (12, 13, 14))
    sixteen = rows_of("relaxation", "fig16")

    def answered(name):
        return [int(eleven[f"{who}: {name}"]) for who in ("data", "uniform")]

    for line, name in (
        ("Disjoint", "Disjoint"),
        *((f"Histogram, θ = {10**power:,}", f"Histogram, θ = {10**power:,}") for power in range(2, 7)),
        ("Histogram, θ = 100,000, our cuts", "Histogram, θ = 100,000, our cuts"),
        ("exact popularity of every point", "Grid (exact)"),
    ):
        yield Claim(f"| {line} | {{:,}} | {{:,}} |", answered(name))
    bound = int(pick(twelve, "upper bound", distribution="data", epsilon=0.3, volume=0.04))
    yield Claim("| upper bound, Lemma 3 | {:,} | {:,} |", (bound, bound))
    few, many = answered("Histogram, θ = 100,000"), answered("Histogram, θ = 1,000,000")
    yield Claim("Yes: +{} (Data) and +{} (Uniform)", [percent(b / a - 1) for a, b in zip(few, many, strict=True)])
    ends = {
        (who, key): pick(twelve, "answered", distribution=who, epsilon=key, volume=0.04)
        for who in ("data", "uniform")
        for key in (0.1, 0.5)
    }
    yield Claim("about {:,} queries for each 0.1.", [round(ends["uniform", 0.5] / 5)])
    yield Claim("{} below five times as many at ε = 0.5", [percent(1 - ends["data", 0.5] / ends["data", 0.1] / 5)])
    falls = [
        pick(twelve, column, distribution=who, epsilon=0.3, volume=0.01)
        / pick(twelve, column, distribution=who, epsilon=0.3, volume=0.16)
        for who, column in (("data", "answered"), ("uniform", "answered"), ("data", "upper bound"))
    ]
    yield Claim("by a factor of {:.0f} (Data) and {:.0f} (Uniform); the bound falls by {:.0f}.", falls)

    def quality(rows, column, who, buckets="exact", **where):
        usual = {"epsilon": 0.3, "volume": 0.04, "most_answers": 3, "most_buckets": buckets}
        return pick(rows, column, distribution=who, **(usual | where))

    errors = sorted(quality(thirteen, "mean_error", who) for who in ("data", "uniform"))
    yield Claim("Yes: {:.4f} to {:.4f} at ξ = 3;", errors)
    theirs = {f"{quality(thirteen, 'mean_error', who, 100000):.3f}" for who in ("data", "uniform")}
    yield Claim(" {} as in the paper.", theirs)
    sizes = {
        most: [quality(thirteen, "mean_size", w, most_answers=most) for w in ("uniform", "data")] for most in (3, 5)
    }
    yield Claim("Yes: {} counts at ξ = 3,", {f"{size:.1f}" for size in sizes[3]})
    yield Claim("{:.1f} to {:.1f} at ξ = 5.", sizes[5])
    yield Claim("{:,.0f} are bought with 10⁵ buckets", [quality(thirteen, "bought", "uniform", 100000)])
    yield Claim("{:,.0f} with 10⁶)", [quality(sixteen, "bought", "uniform", 1000000)])
    large = [quality(sixteen, "mean_error", who, 1000000) for who in ("data", "uniform")]
    yield Claim("an error of {:.4f} (Data) and {:.5f} (Uniform);", large)
    yield Claim("another third off it: {:.4f} and {:.4f}.", errors[::-1])
    assert all(0.3 < 1 - ours / paper < 0.37 for ours, paper in zip(reversed(errors), large, strict=True))
    for column, style in (
        ("mean_error", "the error falls from {} at ε = 0.1 to {}"),
        ("mean_size", "the size from {} to {}"),
    ):
        digits = {"mean_error": (3, 4), "mean_size": (1, 1)}[column]
        said = [
            {f"{quality(fourteen, column, who, epsilon=key):.{places}f}" for who in ("data", "uniform")}
            for key, places in zip((0.1, 0.5), digits, strict=True)
        ]
        assert all(len(one) == 1 for one in said), said
        yield Claim(style, [one.pop() for one in said])
    times = [
        quality(sixteen, "milliseconds", who, 100000, volume=s)
        for who in ("data", "uniform")
        for s in (0.01, 0.02, 0.04, 0.08, 0.16)
    ]
    yield Claim("({:.1f} to {:.1f} ms)", (min(times), max(times)))
    slow = [quality(sixteen, "milliseconds", who, 1000000) for who in ("data", "uniform")]
    yield Claim("Data takes {} longer, {:.1f} ms against {:.1f} ms.", (percent(slow[0] / slow[1] - 1), *slow))
    assert_relaxation_in_words(thirteen, fourteen, rows_of("relaxation", "fig15"), sixteen)
    derived = rows_of("relaxation", "variance")
    for most in range(1, 6):
        cells = [
            hundredths(pick(derived, column, distribution=who, most_answers=most))
            for who in ("data", "uniform")
            for column in ("compound", "derived")
        ]
        yield Claim(f"| {most} | {{}} λ² | {{}} λ² | {{}} λ² | {{}} λ² |", cells)
    ratios = [float(row["ratio"]) for row in derived]
    yield Claim("the variance is {:.2f} to {:.2f} of the compound's", (min(ratios), max(ratios)))
    names = {"moved": "moved", "truncated": "truncated", "inside": "centres inside"}
    readings = rows_of("relaxation", "readings")
    moved = [int(row["answered"]) for row in readings if row["reading"] == "moved"]
    assert moved == answered("Grid (exact)")
    for row in readings:
        whose = f"| {row['distribution'].title()}, {names[row['reading']]} "
        volume, room, many = float(row["mean volume"]), float(row["bound"]), int(row["answered"])
        cells = (100 * volume, room, many, percent(float(row["used"])), row["answered as printed"])
        yield Claim(whose + "| {:.2f}% | {:,.0f} | {:,} | {} | {} |", cells)
    exact = {row["reading"]: float(row["answered"]) / bound for row in readings if row["distribution"] == "uniform"}
    yield Claim(
        "answers {} of it as drawn here, and {} where", [percent(exact[name]) for name in ("moved", "truncated")]
    )
    assert {row["answered as printed"] for row in readings} == {"300"}


def assert_relaxation_in_words(thirteen, fourteen, fifteen, sixteen):
    """What the page says of Figures 13 to 16 without a number."""

    def curves(rows, column, along, mine=True):
        """A column along a parameter, with all others as in Table 2, for both distributions."""
        usual = {"epsilon": "0.3", "volume": "0.04", "most_answers": "3"} | {
            "most_buckets": "exact" if mine else "100000"
        }
        kept = {name: value for name, value in usual.items() if name != along}
        found = [row for row in rows if all(row[name] == value for name, value in kept.items())]
        for who in ("data", "uniform"):
            yield [float(row[column]) for row in found if row["distribution"] == who]

    def falls(numbers):
        return numbers == sorted(numbers, reverse=True) and len(numbers) == 5

    def grows(numbers):
        return falls(numbers[::-1])

    for mine in (True, False):
        for error, taken in zip(
            *(curves(thirteen, name, "most_answers", mine) for name in ("mean_error", "milliseconds")), strict=True
        ):
            assert falls(error) or not mine  # with the histogram the last digits go up and down
            assert error[0] - error[2] > 3 * abs(error[2] - error[4])  # most is gained up to ξ = 3
            assert taken[0] < taken[2]
            assert taken[4] < 1.2 * taken[2]
        for column in ("mean_error", "mean_size") if mine else ("mean_error",):
            assert all(map(falls, curves(fourteen, column, "epsilon", mine)))
    for column in ("mean_error", "mean_size"):
        assert all(map(grows, curves(fifteen, column, "volume")))
    assert all(map(grows, curves(fifteen, "mean_size", "volume", mine=False)))
    tops = [error.index(max(error)) for error in curves(fifteen, "mean_error", "volume", mine=False)]
    assert tops == [3, 2]  # 8% and 4%
    assert all(0.35 < quick[2] < 0.65 for quick in curves(fourteen, "milliseconds", "epsilon"))
    for numbers in sorted_by(sixteen, "epsilon", mine=False):
        assert numbers[0] < numbers[-1]
    for numbers in sorted_by(sixteen, "epsilon", mine=True):
        assert falls(numbers)
    for numbers in sorted_by(sixteen, "volume", mine=True):
        assert grows(numbers)


def sorted_by(rows, along, mine):
    """Milliseconds of Figure 16 along a parameter, all others as in Table 2."""
    usual = {"epsilon": 0.3, "volume": 0.04, "most_answers": 3}
    usual.pop(along)
    buckets = "exact" if mine else "100000"
    for who in ("data", "uniform"):
        found = [
            row
            for row in rows
            if row["distribution"] == who
            and row["most_buckets"] == buckets
            and all(float(row[name]) == value for name, value in usual.items())
        ]
        yield [float(row["milliseconds"]) for row in sorted(found, key=lambda row: float(row[along]))]


def test_the_page_on_relaxation_says_what_its_numbers_say():
    # The paper's settings; limits and volumes; and where curves are looked at.
    settings = {"2008", "1,000,000", "79", "14", "23", "100", "20,000", "2000", "0.3", "3", "100,000", "300", "4"}
    settings |= {"2", "128", "10", "13", "15", "9", "0.1", "0.5", "1", "16", "5", "8", "12"}
    check_page("relaxation", list(relaxation_claims()), settings)


BUCKET_TABLES = ("OCC-300K", "EDU-300K", "Census-Income, occupation", "Census-Income, education")
THETAS = (2, 4, 8, 16, 32)


def three_digits(number):
    return f"{number:#.3g}".rstrip(".")


def buckets_claims():
    three, four, five, similar, six = (
        rows_of("buckets", name) for name in ("fig3", "fig4", "fig5", "fig5_similar", "fig6")
    )
    needed = {
        table: [pick(three, "ℓ", table=f"{table}-300K", method="ℓ that the limits need", θ=theta) for theta in (2, 32)]
        for table in ("OCC", "EDU")
    }
    yield Claim("Yes: OCC {:.0f} to {:.0f}, EDU {:.0f} to {:.0f}.", (*needed["OCC"], *needed["EDU"]))

    def mse(method, theta, table):
        return pick(four, "MSE", table=table, method=method, θ=theta)

    for line, method in (
        ("Anatomy, its bound ignored", "Anatomy"),
        *((name, name) for name in ("TwoSize", "MultiSize (seed's)", "MultiSize", "Optimal")),
    ):
        cells = [three_digits(mse(method, 8, table)) for table in BUCKET_TABLES]
        yield Claim(f"| {line} | {{}} | {{}} | {{}} | {{}} |", cells)

    def ratios(one, other):
        every = [mse(one, theta, table) / mse(other, theta, table) for table in BUCKET_TABLES for theta in THETAS]
        return min(every), max(every)

    yield Claim("Yes: {:.1f} to {:.0f} times TwoSize's.", ratios("Anatomy", "TwoSize"))
    yield Claim("No: {:.1f} to {:.1f} times.", ratios("TwoSize", "MultiSize"))
    theirs, ours = ratios("MultiSize (seed's)", "Optimal"), ratios("MultiSize", "Optimal")
    yield Claim(
        "By the paper's algorithm {:.0f}% to {:.0f}% above; rounded {:.1f}% to {:.1f}%.",
        [100 * (ratio - 1) for ratio in (*theirs, *ours)],
    )
    errors = {(row["table"], row["method"], int(row["θ"])): float(row["relative error, %"]) for row in five}
    yield Claim("| {:.0f}% at most. The queries", [max(errors.values())])
    alone = {row["table"]: float(row["relative error of one bucket, %"]) for row in rows_of("buckets", "fig5_baseline")}
    # A CSV has two digits: halves of a tenth go up.
    shown = [math.floor(10 * alone[name] + 0.5) / 10 for name in ("occupation", "education")]
    yield Claim("has {:.1f}% on occupation and {:.1f}% on education", shown)

    def below(one, other):
        every = [1 - errors[t, one, theta] / errors[t, other, theta] for t in BUCKET_TABLES[2:] for theta in THETAS]
        return [round(100 * part) for part in (min(every), max(every))]

    apart = max(
        abs(errors[t, "Optimal", theta] / errors[t, "MultiSize", theta] - 1)
        for t in BUCKET_TABLES[2:]
        for theta in THETAS
    )
    yield Claim("Optimal and MultiSize are within {:.2f}% of each other", [100 * apart])
    yield Claim("*similar* is {}% to {}% below MultiSize", below("similar", "MultiSize"))
    for row in similar:
        name = row["dealt"].removeprefix("sizes ").replace("Morton", "Morton order")
        name += ": `similar`" if name == "25 to 50, sweep" else ""
        shares = [f"{float(row[column]):.0f}" for column in ("guessed blindly, %", "by order, %", "by a learner, %")]
        error = f"{float(row['relative error, %']):.1f}%"
        error = f"**{error}**" if "similar" in name else error
        name = name.replace("`similar`", "")
        yield Claim(
            f"| {name} | {{:.1f}} | {{}} | {{}}% | {{}}% | {{}}% |".replace("  ", " "),
            (float(row["MSE"]), error, *shares),
        )
    learnt = {(row["table"], row["dealt"]): float(row["by a learner, %"]) for row in similar}
    missed = {(row["table"], row["dealt"]): float(row["relative error, %"]) for row in similar}
    pair = [learnt["occupation", f"sizes 25 to 50, {dealt}"] for dealt in ("round-robin", "sweep")]
    yield Claim("on occupations twice as many are guessed ({:.0f}% and {:.0f}%)", pair)
    assert 1.8 < pair[1] / pair[0] < 2.2
    for table in ("occupation", "education"):  # "half as much, at half the error"
        many, few = (table, "MultiSize, round-robin"), (table, "sizes 25 to 50, sweep")
        assert 0.4 < learnt[few] / learnt[many] < 0.6
        assert 0.4 < missed[few] / missed[many] < 0.6
    of_occupations = [errors["Census-Income, occupation", name, 32] for name in ("MultiSize", "TwoSize")]
    assert 0.4 < of_occupations[0] / of_occupations[1] < 0.6  # "half of TwoSize's error"
    times = {(row["table"], row["method"], int(row["records, thousands"])): float(row["seconds"]) for row in six}
    yield Claim(
        "Yes: {:.1f} ms, {:.0f} ms and {:.0f} ms at 300,000 records of OCC.",
        [1000 * times["OCC", f"{name}-pruning", 300] for name in ("Full", "Loss", "No")],
    )
    seven = {
        (row["method"], row["scale-up γ of the number of values"]): float(row["seconds"])
        for row in rows_of("buckets", "fig7")
        if row["table"] == "OCC"
    }
    yield Claim("on OCC from {:.0f} s to {:.0f} s.", [seven["Optimal", gamma] for gamma in ("1", "64")])
    yield Claim("to {:.0f} ms for 3,200", [1000 * seven["Full-pruning", "64"]])
    falls = [1000 * seven["No-pruning", gamma] for gamma in ("1", "64")]
    yield Claim("falls a little, from {:.0f} ms to {:.0f} ms.", falls)
    program = [seconds for (_, method, _), seconds in times.items() if method == "Optimal"]
    yield Claim("it takes from {:.0f} s to {:.0f} s", (min(program), max(program)))


def test_the_page_on_buckets_says_what_its_numbers_say():
    # The paper's and the tables' settings; Figure 7's times, in words of their size.
    settings = {
        "2012",
        "50",
        "14",
        "0.18",
        "7.5",
        "0.44",
        "27.3",
        "300,000",
        "146,451",
        "46",
        "219,751",
        "16",
        "1",
        "8",
    }
    settings |= {"0.02", "120", "2", "7", "32", "13", "4", "5,000", "20", "25", "10", "50,000", "500,000", "3,200"}
    settings |= {"100", "1,176", "64"}
    check_page("buckets", list(buckets_claims()), settings)
