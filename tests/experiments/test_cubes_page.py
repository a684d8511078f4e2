"""Every number that the page on cubes says is in its CSV files, or is a setting; so is what is explained of counts."""

import math
from decimal import ROUND_HALF_UP, Decimal

from tests.experiments.test_pages import PAGES, Claim, check_page, percent, pick, rows_of


def cubes_claims():
    adult, nursery = (
        {row["technique"]: row for row in rows_of("cubes", name) if row["ε"] == "1"} for name in ("fig6_1", "fig6_2")
    )

    def of(table, technique, column):
        return float(table[technique][column])

    def share(table, technique, column):
        """A consistent error, of All's inconsistent one."""
        return 100 * of(table, technique, f"{column}, consistent") / of(table, "All", column)

    yield Claim(
        "on average yes: {:.0f}% and {:.0f}% on Adult, {:.0f}% and {:.0f}% on Nursery.",
        [share(table, name, "average") for table in (adult, nursery) for name in ("BMax", "PMost")],
    )
    yield Claim(
        "Of the max error {:.0f}% and {:.0f}% on Adult, {:.0f}% and {:.0f}% on Nursery",
        [share(table, name, "max") for table in (adult, nursery) for name in ("BMax", "PMost")],
    )

    def below(table, column):
        return 100 * (1 - of(table, "BMaxG", f"{column}, consistent") / of(table, "BMax", f"{column}, consistent"))

    yield Claim("Adult: {:.0f}% on average, {:.0f}% of the max.", (below(adult, "average"), below(adult, "max")))
    yield Claim(
        "Nursery: {:.0f}% of the max; its average is {:.0f}% *above* BMaxC's",
        (below(nursery, "max"), -below(nursery, "average")),
    )

    def gained(table, technique):
        return 100 * (1 - of(table, technique, "average, consistent") / of(table, technique, "average"))

    yield Claim(
        "All: {:.0f}% of the average on Adult, {:.0f}% on Nursery.", (gained(adult, "All"), gained(nursery, "All"))
    )
    yield Claim(
        "is below it: {:.1f} against {:.1f}",
        (of(nursery, "optimal (mean)", "average, consistent"), of(nursery, "Base", "average")),
    )
    yield Claim(
        "a largest standard deviation of {:.1f} against {:.1f}, and an average error of {:.1f} against {:.1f}",
        (
            of(adult, "optimal (max)", "largest sd"),
            of(adult, "BMaxG", "largest sd"),
            of(adult, "optimal (mean)", "average, consistent"),
            of(adult, "PMost", "average, consistent"),
        ),
    )
    planned = ("BMax", "PMost", "BMaxG", "PMostG", "optimal (max)", "optimal (mean)")
    spans = [[gained(table, name) for name in planned if gained(table, name)] for table in (adult, nursery)]
    yield Claim(
        "The planned ones {:.0f}–{:.0f}% on Adult, {:.0f}–{:.0f}% on Nursery",
        [end(span) for span in spans for end in (min, max)],
    )
    sweep = {row["sources"]: float(row["consistency"]) for row in rows_of("cubes", "fig6_9b")}
    yield Claim("{:.2f} s for one of them, {:.2f} s for all 256", (sweep["1"], sweep["256"]))
    assert sweep["256"] < 10 * sweep["1"]
    whole = {
        (row["technique"], int(row["dimensions"])): float(row["seconds, consistent"])
        for row in rows_of("cubes", "fig6_8")
    }
    longer = [whole["All", dimensions] / whole["BMaxG", dimensions] for dimensions in (8, 10)]
    yield Claim("{:.1f} times with 8 dimensions, {:.1f} times with 10.", longer)
    slowest = max(
        float(row[name]) for row in rows_of("cubes", "fig6_9a") for name in ("BMax", "PMost", "BMaxG", "PMostG")
    )
    yield Claim("at most {} s for 1,024 cuboids", [math.ceil(10 * slowest) / 10])
    assert 0.15 < slowest / whole["PMost", 10] < 0.25  # a fifth
    planned = {int(row["dimensions"]): float(row["optimal (max)"]) for row in rows_of("cubes", "fig6_9a")}
    spent = [planned[dimensions] for dimensions in range(7, 11)]
    yield Claim("takes {:.1f}–{:.1f} s from 7 dimensions on", (min(spent), max(spent)))
    assert 0.4 < planned[8] / whole["optimal (max)", 8] < 0.6  # half
    yield Claim("{} of publishing 10", [percent(planned[10] / whole["optimal (max)", 10])])
    threshold = [row for row in rows_of("cubes", "fig6_3") if row["technique"] == "PMost"]
    rough = {row["θ₀/θ'"]: float(row["average"]) for row in threshold}
    assert max(rough.values()) == rough["1.0"]
    yield Claim("the worst of all, {:.1f} against {:.1f} at its best", (rough["1.0"], min(rough.values())))
    fine = [float(row["average, consistent"]) for row in threshold]
    yield Claim("average is {:.1f} at 0.1 θ', and {:.1f} to {:.1f} beyond.", (fine[0], min(fine[1:]), max(fine[1:])))
    precise = [
        row for row in rows_of("cubes", "fig6_3") if row["technique"] == "PMostG" and float(row["precise"]) == 256
    ]
    yield Claim("and all of them from {} on.", [precise[0]["θ₀/θ'"]])
    yield from claims_of_dimensions()
    for row in rows_of("cubes", "online_shares"):
        cells = [row[name] for name in ("one variance known beforehand", "own", "shared", "proved")]
        yield Claim("| {} | {} | {} × | {} × | {} × | {} × |", [row["cuboids"], row["best"], *cells])
    online = rows_of("cubes", "online")
    assert pick(online, "relaxed", within=500) == pick(online, "relaxed", within=1000) == 0
    assert all(float(row["known"]) > 150 for row in online)  # more than half of 300
    rest = 300 - 159
    assert 0.7 < 1 - pick(online, "relaxed", within=250) / rest < 0.8  # three quarters


def claims_of_dimensions():
    """Of Figures 6.1 and 6.6."""
    base = [row for row in rows_of("cubes", "fig6_1") if row["technique"] == "Base"]
    assert {f"{float(row['max']) / float(row['largest sd']):.2f}" for row in base} == {"0.79", "0.80"}
    rows = rows_of("cubes", "fig6_6")
    seeds = ("All", "Base", "BMax", "PMost", "BMaxG")
    errors = {
        (int(row["dimensions"]), row["technique"], kind): float(row[f"{kind}, consistent"])
        for row in rows
        for kind in ("max", "average")
        if row["technique"] in seeds
    }
    for dimensions in range(4, 9):
        for kind in ("max", "average"):
            assert min(seeds, key=lambda name: errors[dimensions, name, kind]) == "BMaxG"
        assert errors[dimensions, "BMax", "max"] < errors[dimensions, "PMost", "max"]
    pairs = [errors[dimensions, name, "average"] for dimensions in (7, 8) for name in ("PMost", "BMax")]
    yield Claim("({:.1f} against {:.1f}, {:.1f} against {:.1f})", pairs)
    worse = [errors[d, "PMost", "average"] / errors[d, "BMax", "average"] - 1 for d in (4, 5, 6)]
    assert min(worse) > 0
    yield Claim("it is up to {:.0f}% worse.", [100 * max(worse)])
    totals = [row for row in rows_of("cubes", "fig6_5") if row["dimensions of the cuboid"] == "0"]
    gains = [1 - float(row["max, consistent"]) / float(row["max"]) for row in totals if row["technique"] != "Base"]
    yield Claim("In the total of Adult {:.0f}–{:.0f}% |", [100 * min(gains), 100 * max(gains)])


def test_the_page_on_cubes_says_what_its_numbers_say():
    # The tables' sizes; what the thesis claims; numbers of dimensions and algorithms; counts of precise cuboids, which
    # tests/cube/test_publish_most.py has; times in words of their size, and the cells that are drawn.
    settings = {
        "2012",
        "32,561",
        "9",
        "16",
        "7",
        "15",
        "6",
        "5",
        "2",
        "256",
        "8.2",
        "12,960",
        "3",
        "4",
        "512",
        "6.2",
        "6.5",
    }
    settings |= {
        "6.9",
        "30",
        "20",
        "40",
        "50",
        "70",
        "6.2.1",
        "6.2.4",
        "6.3",
        "26",
        "73",
        "34",
        "37",
        "91",
        "93",
        "154",
    }
    settings |= {"163", "88", "151", "10", "8", "0.2", "0.4", "206", "31", "1", "0.3", "0.5", "300", "200,000", "159"}
    # Cells and errors of cuboids that are drawn by themselves, exponents, and what is asked for online.
    settings |= {"250", "500", "1000", "0", "400", "10,000", "0.79", "0.80", "12", "66", "200", "255", "2²", "7.2"}
    check_page("cubes", list(cubes_claims()), settings)


def two_or_three_digits(text):
    """Two behind the point below 1, one below 10, none beyond; halves go away from 0."""
    size = abs(Decimal(text))
    return Decimal(text).quantize(Decimal("0.01" if size < 1 else "0.1" if size < 10 else "1"), ROUND_HALF_UP)


def test_what_is_explained_of_whole_counts_says_what_its_numbers_say():
    page = (PAGES.parent / "explain" / "cubes.md").read_text(encoding="utf-8")
    names = ("0", "1 to 9", "10 to 99", "100 to 999", "1,000 or more")
    for name, row in zip(names, rows_of("cubes", "counts"), strict=True):
        bias = f"{two_or_three_digits(row['bias, whole']):+}".replace("-", "−")
        errors = [two_or_three_digits(row[f"error, {way}"]) for way in ("whole", "least squares")]
        assert f"| {name} | {int(row['cells']):,} | {bias} | {errors[0]} | {errors[1]} |" in page, row
