"""Every number that the pages on facts, wide tables, SuLQ and attacks say is in their CSV files, or is a setting."""

import math
from decimal import ROUND_HALF_UP, Decimal
from fractions import Fraction
from itertools import pairwise
from statistics import NormalDist

from discreet.ledger.conversion import rho_for
from discreet.ledger.gaussian_conversion import mu_squared_for
from tests.experiments.test_pages import Claim, check_page, percent, pick, rows_of


def tenth(number):
    return f"{number:.1f}"


def facts_claims():
    for row in rows_of("facts", "grades"):
        name = row["known"].replace("students ", "")
        name = "the same, calibrated" if "calibrated" in name else name
        cells = [float(row[column]) for column in ("A", "C", "F", "passing", "all")]
        assert row["A"] == row["B"], row
        assert row["C"] == row["D"], row
        for column in ("A", "B", "C", "D", "F", "passing", "all"):
            simulated, stated = float(row[f"{column}, simulated"]), float(row[column])
            assert abs(simulated - stated) <= 0.015 * stated  # "agree to 1%"
        rho = float(row["rho / epsilon"])
        said = "ε" if rho == 1 else f"{rho:.2f} ε"
        yield Claim(
            f"| {name} | {{}} | {{}} | {{}} | {{}} | {{}} | {{}} |", [*(tenth(c) if c else "0" for c in cells), said]
        )
    for row in rows_of("facts", "adult_gain"):
        columns = ("one attribute", "two attributes", "two, nonnegative", "one, calibrated", "two, calibrated")
        cells = [f"{hundredths(row[column]):.1f}" if row[column] else "–" for column in columns]
        yield Claim("| {} | {} | {} | {} | {} | {} | {} |", [row["known"], row["S_Q"] or "?", *cells])
    gain = rows_of("facts", "adult_gain")
    alone = pick(gain, "one attribute", known="consistency alone")
    yield Claim("gains most: {:.0f}% for single", [100 * (1 - alone / pick(gain, "one attribute", known="nothing"))])
    least = 1 - pick(gain, "two attributes", known="all single attributes") / pick(
        gain, "two attributes", known="nothing"
    )
    assert least > 0
    pairs = [pick(gain, "two attributes", known=name) for name in ("all single attributes", "how many people")]
    yield Claim("take only {:.0f}% off", [math.ceil(100 * (1 - pairs[0] / pairs[1]))])
    grades = {row["known"]: row for row in rows_of("facts", "grades")}
    nothing, calibrated = grades["nothing"], grades["and 180 students in all, calibrated"]
    counts = ("A", "B", "C", "D", "F", "passing", "all")
    assert sum(float(calibrated[count]) > float(nothing[count]) for count in counts) == 6  # "six of the seven"
    best = min(float(grades["what holds by definition"][count]) / float(nothing[count]) for count in counts)
    assert 0.7 < best < 0.8  # "a quarter off the best of them"
    assert (pick(gain, "S_Q", known="sex"), pick(gain, "S_Q", known="sex, and race")) == (2, 4)
    signs = [1 - float(row["two, nonnegative"]) / float(row["two attributes"]) for row in gain[1:]]
    assert min(signs) > 0.2  # "a fifth and more"
    off, further = [], []
    figure = rows_of("facts", "fig6_10")
    for name in dict.fromkeys(row["known"] for row in figure):
        readings = ("private", "public", "public, in least squares")
        lines = [
            next(row for row in figure if (row["known"], row["reading"]) == (name, reading)) for reading in readings
        ]
        reach = sorted({int(lines[0]["least S_Q"]), int(lines[0]["largest S_Q"])})
        if name != "none":
            off.append([1 - float(lines[1][column]) / float(lines[0][column]) for column in ("max", "average")])
            further.append(1 - float(lines[2]["average"]) / float(lines[1]["average"]))
        cells = [f"{round_half_up(row[column]):,}" for column in ("max", "average") for row in lines]
        yield Claim("| {} | {} | {} | {} | {} | {} | {} | {} |", [name, " to ".join(map(str, reach)), *cells])
    largest, average = zip(*off, strict=True)
    yield Claim("takes {} to {} off the max,", [percent(min(largest)), percent(max(largest))])
    yield Claim("and {} to {} off the average.", [percent(min(average)), percent(max(average))])
    yield Claim("gains another {} to {} on average.", [percent(min(further)), percent(max(further))])


def hundredths(text):
    """A CSV has two digits: halves of a tenth go up."""
    return math.floor(float(text) * 10 + 0.5 + 1e-9) / 10


def round_half_up(text):
    return math.floor(float(text) + 0.5)


def test_the_page_on_facts_says_what_its_numbers_say():
    # How many students, releases, tables, counts; ε and scales; and the papers' and figures' numbers.
    settings = {"1", "2", "10,000,000", "180", "0.5", "6", "20,000", "80", "5", "3", "37", "1,645", "442", "20", "4"}
    settings |= {"256", "12", "6.10"}
    check_page("facts", list(facts_claims()), settings)


def wide_claims():
    for row in rows_of("wide", "wide"):
        times = [f"{float(row[column]):.1f} s" for column in ("planned s", "published s", "saved s")]
        best = row["ResidualPlanner's optimum"]
        optimum = f" {float(best):,.0f} " if best else " "
        largest = float(row["largest variance"])
        yield Claim(
            f"| {{}} | {{:,}} | {{}} | {{}} | {{}} | {{}} | {{:.1f}} GB | {{:,}} MB | {{}} |{optimum}|",
            [
                row["attributes"],
                int(row["cuboids"]),
                row["noise"],
                *times,
                float(row["peak GB"]),
                int(row["folder MB"]),
                f"{largest:,.0f}",
            ],
        )
        assert float(row["roll-ups off by"]) < 1e-14
        assert abs(float(row["squared error / variance"]) - 1) < 0.05
    rows = rows_of("wide", "wide")
    cells = pick(rows, "cells", attributes=50, noise="Gaussian, ρ = ½")
    cuboids = int(pick(rows, "cuboids", attributes=50, noise="Gaussian, ρ = ½"))
    yield Claim("their {:,} cuboids of at most three have {:.1f} million", (cuboids, cells / 1e6))
    whole = {20: 847, 50: 14388, 100: 118281}  # measured once, without a file
    above = [
        whole[d] / pick(rows, "ResidualPlanner's optimum", attributes=d, noise="Gaussian, ρ = ½") - 1 for d in whole
    ]
    yield Claim(
        "variance of {} with 20 attributes, {:,} with 50 and {:,} with 100: {:.0f}%, {:.0f}% and {:.0f}% above.",
        [*whole.values(), *(100 * part for part in above)],
    )
    for row in rows:
        if row["ResidualPlanner's optimum"]:
            assert abs(float(row["largest variance"]) / float(row["ResidualPlanner's optimum"]) - 1) < 0.0011


def test_the_page_on_wide_tables_says_what_its_numbers_say():
    # The paper's settings and figures, which are of another machine; what replace costs, by the formula beside it.
    settings = {
        "10",
        "20",
        "50",
        "100",
        "100,000",
        "2023",
        "4.8",
        "2",
        "0.35",
        "0.1%",
        "0.1",
        "0.6",
        "26.8",
        "2.7",
        "11.2",
    }
    settings |= {"550", "20,000", "1", "11", "19,600"}
    check_page("wide", list(wide_claims()), settings)


def models_claims():
    lines = rows_of("models", "by_attributes")
    shown = [row for row in lines if row["attributes"] not in ("6", "7")]
    for row in shown:
        cells = [row[name].removeprefix("0") for name in ("modelled", "least squares, clipped", "another sample")]
        yield Claim(("| {} | {} | {} | {} |" if cells[1] else "| {} | {} |{} | {} |"), [row["attributes"], *cells])
    times = [float(row["modelled"]) / float(row["another sample"]) for row in lines]
    yield Claim("the model is {:.1f} to {:.1f} times as far off", (times[0], times[2]))
    yield Claim("to {:.1f} times of it", [times[-1]])
    rough = float(lines[2]["least squares, clipped"]) / float(lines[2]["another sample"])
    yield Claim("least squares of triples {:.0f} times.", [rough])
    sizes = rows_of("models", "by_size")
    modelled = {int(size): float(error) for size, error, _, _ in (row.values() for row in sizes)}
    solved = {int(size): float(error) for size, _, error, _ in (row.values() for row in sizes)}
    yield Claim("a cell of 5 to 9 people is off by {:.1f} on average, nearly as much as itself", [modelled[5]])
    assert 0.6 < modelled[5] / 7 < 1 < modelled[2] / 2
    assert all(error < size / 2 for size, error in modelled.items() if size >= 20)
    assert all(error < size / 10 for size, error in modelled.items() if size >= 200)
    yield Claim("off by {:.0f} to {:.0f} everywhere", (min(solved.values()), max(solved.values())))
    yield Claim("are off by {:.1f} people where least squares is off by {:.0f}", (modelled[0], solved[0]))


def test_the_page_on_models_says_what_its_numbers_say():
    # The table and the release; sizes of cells.
    settings = {"0", "8", "32,561", "1", "10", "56", "2", "20", "200"}
    check_page("models", list(models_claims()), settings)


def attack(file, answers, vault="ε = 1", kind=None):
    rows = rows_of("attacks", file)
    return next(
        row for row in rows if (row["vault"], row["answers"]) == (vault, answers) and kind in (None, row["attack"])
    )


def interval(row):
    low, high = (f"{thousandths(row[name])}".replace("-", "−") for name in ("low", "high"))
    return f"{low} … {high}"


def advantage(row):
    return f"{thousandths(row['advantage'])}".replace("-", "−")


def thousandths(text):
    """A CSV has four digits: halves of a thousandth go away from 0."""
    return Decimal(text).quantize(Decimal("0.001"), ROUND_HALF_UP)


ONE, SIX, SOLVED = "vault, one question for everything", "vault, in 6 parts", "vault, until it says no more"


def attacks_claims():
    allowed = f"{float(attack('membership', ONE)['allowed']):.3f}"
    yield Claim("an advantage above {}.", [allowed])
    exact, solved = attack("reconstruction", "exact answers"), attack("reconstruction", SOLVED)
    yield Claim("{} exact counts over random halves give away all {:,} rows", (exact["questions"], int(exact["right"])))
    assert exact["right"] == exact["of"]
    yield Claim("an advantage of {} (95%: {}).", (advantage(solved), interval(solved)))
    one, six = attack("membership", ONE), attack("membership", SIX)
    yield Claim("{} (95%: {}) where {} is allowed", (advantage(one), interval(one), allowed))
    yield Claim("tells much less: {}.", [advantage(six)])
    people = [int(attack("budgets", name, kind=kind)["of"]) for name, kind in
              ((ONE, "membership"), (SIX, "membership"), (SOLVED, "reconstruction"))]  # fmt: skip
    yield Claim("{:,} and {:,} people for membership, {:,} for reconstruction", people)
    for vault in dict.fromkeys(row["vault"] for row in rows_of("attacks", "budgets")):
        cells = [
            attack("budgets", name, vault, kind)
            for name, kind in ((ONE, "membership"), (SIX, "membership"), (SOLVED, "reconstruction"))
        ]
        yield Claim(
            "| {} | {:.3f} | {} | {} | {} |",
            [vault, float(cells[0]["allowed"]), *(f"{advantage(row)} ({interval(row)})" for row in cells)],
        )
    by_rho = math.erf(math.sqrt(0.1 / 2) / math.sqrt(2))  # 2·Φ(√(ρ/2)) − 1
    yield Claim("= {:.3f} for ρ = 0.1", [by_rho])
    both = next(row for row in rows_of("attacks", "budgets") if "δ" in row["vault"])
    yield Claim("{:.3f}, where ε = 1 allows {}.", (float(both["allowed"]), allowed))
    rho, mu_squared = (float(kept(Fraction(1), Fraction(1, 10**6))) for kept in (rho_for, mu_squared_for))
    assert f"{2 * NormalDist().cdf(math.sqrt(mu_squared) / 2) - 1:.4f}" == both["allowed"]
    yield Claim("had {:.3f} here", [math.sqrt(rho / 2)])
    yield Claim("ρ = {:.4f} where μ²/2 is {:.4f}", (rho, mu_squared / 2))
    vaults = [row for row in rows_of("attacks", "budgets") if row["answers"] in (ONE, SIX, SOLVED)]
    assert all(float(row["low"]) <= float(row["allowed"]) for row in vaults)
    pure = [row for row in vaults if row["answers"] == ONE and row["vault"] in ("ε = 0.1", "ε = 1", "ε = 3")]
    assert all(float(row["low"]) <= float(row["allowed"]) <= float(row["high"]) for row in pure)


def test_the_page_on_attacks_says_what_its_numbers_say():
    # ε, block and threshold sizes, questions; the confidence of intervals; where a curve reaches everybody.
    settings = {"0", "1", "2", "5", "32", "72", "300", "99"}
    check_page("attacks", list(attacks_claims()), settings)


SUM = "the seed's sum"


def two_digits(number):
    return f"{number:#.2g}".rstrip(".")


def sulq_claims():
    privacy = rows_of("sulq", "privacy")
    named = {0.1: "10%", 0.01: "1%", 0.001: "0.1%", 1e-06: "10⁻⁶"}
    who = ("insists", "stops in time", "asks at random", "knows half")
    for bound, name in named.items():
        lines = [row for row in privacy if row["calibration"] == "exact" and float(row["bound"]) == bound]
        shares = [float(next(row for row in lines if row["adversary"] == one)["share above δ"]) for one in who]
        said = [f"{float(f'{100 * share:.2g}'):g}%" if share else "0" for share in shares]
        yield Claim("| {} | {:,} | {} | {} | {} | {} |", [name, int(lines[0]["trials"]), *said])
    largest = max(float(row["largest Δconf"]) for row in privacy if float(row["bound"] or 0) == 1e-06)
    yield Claim("the largest Δconf of any attack was {:.2f}.", [largest])
    by_paper = next(row for row in privacy if row["calibration"] == "paper")
    trials = int(by_paper["trials"])
    yield Claim("the paper's R, {:.1f}·10¹⁰, it was {:.3f}:", (trials / 1e10, float(by_paper["largest Δconf"])))
    yield Claim("σ² is {:.1f}·10⁹ at 10⁶ people and 2,000 queries", [trials / 4 / 1e9])
    yield Claim("with {:,} times less variance", [round(trials / int(lines[0]["trials"]) / 1000) * 1000])
    queries = rows_of("sulq", "queries")
    noisy = [row for row in queries if row["method"] == "the paper's search" and float(row["noise_variance"]) > 0]
    yield Claim("(σ² = {:,.0f};", [float(noisy[0]["noise_variance"]) + 0.25])
    regression = [
        (float(row["queries_alpha"]), float(row["error"]))
        for row in queries
        if row["method"] == "regression" and float(row["noise_variance"]) > 0
    ]
    for row in noisy[1:5]:
        error, asked = float(row["error"]), float(row["queries_alpha"])
        ours = needed(regression, error)
        yield Claim(
            "| {} | {:,} | {:,} | {:.0f} × |",
            [two_digits(error), rounded(ours, 2), round(asked, -2).__trunc__(), asked / ours],
        )
    people = rows_of("sulq", "people")
    for power in range(4, 9):
        cells = [two_digits(pick(people, "error", people=10**power, queries=queries)) for queries in (200, 2000, 20000)]
        shown = "".join({"4": "⁴", "5": "⁵", "6": "⁶", "7": "⁷", "8": "⁸"}[digit] for digit in str(power))
        if power in (6, 7):
            cells[1] = f"**{cells[1]}**"
        yield Claim("| 10{} | {} | {} | {} |", [shown, *cells])
    yield Claim("the error of Δ̂ is {:,.0f}:", [pick(people, "error_with_the_papers_noise", people=10**6, queries=2000)])
    search = next(row for row in people if (row["people"], row["queries"]) == ("1000000", "2000"))
    yield Claim("and {} to α's", [search["queries_of_the_search"]])
    learnt = rows_of("sulq", "learnt")
    for line, attributes, function, way in (
        ("conjunction of 4, from pairs", 4, "conjunction", "Walsh"),
        ("any function of 4", 4, "random", "Walsh"),
        ("parity of 4", 4, "parity", "Walsh"),
        ("conjunction of 6, from triples", 6, "conjunction", "Walsh"),
        ("any function of 6", 6, "random", "Walsh"),
        ("parity of 6", 6, "parity", "Walsh"),
    ):
        errors = [
            two_digits(pick(learnt, "mean_error", attributes=attributes, function=function, way=way, people=many))
            for many in (32561, 3256100, 32561000)
        ]
        quiet = [
            float(row["mean_error"])
            for row in learnt
            if (row["attributes"], row["function"], row["way"]) == (str(attributes), function, "Walsh, no noise")
        ]
        yield Claim(f"| {line} | {{}} | {{}} | {{}} | {{:.3f}} |", [*errors, sum(quiet) / len(quiet)])
        if (attributes, function) in ((4, "conjunction"), (6, "conjunction"), (6, "random")):
            summed = [
                two_digits(pick(learnt, "mean_error", attributes=attributes, function=function, way=SUM, people=many))
                for many in (32561, 3256100, 32561000)
            ]
            yield Claim("| … by the seed's sum of rows | {} | {} | {} | |", summed)


def needed(points, error):
    """Where a curve of errors, straight between its points on logarithmic axes, comes down to an error."""
    for (a, high), (b, low) in pairwise(points):
        if low <= error <= high:
            part = math.log(high / error) / math.log(high / low)
            return math.exp(math.log(a) + part * math.log(b / a))
    raise AssertionError(error)


def rounded(number, digits):
    return int(float(f"{number:.{digits}g}"))


def test_the_page_on_sulq_says_what_its_numbers_say():
    # δ, failure bounds, numbers of queries, people and subsets; what plans say of the least number of queries, and how
    # many sets are heavy, both without noise of their own (tests/mining has them); columns.
    settings = {
        "2004",
        "1",
        "10",
        "95",
        "2",
        "0.1",
        "10,000",
        "2,000",
        "0.05",
        "1,293",
        "103,432",
        "15",
        "8",
        "16",
        "0.60",
        "3",
        "200",
    }
    settings |= {"20,000", "420", "2,400", "22,400", "89,600", "32,561", "3.3", "33", "11"}
    check_page("sulq", list(sulq_claims()), settings)
