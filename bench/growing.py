"""A register that grows for five years, and questions about sliding windows: what they cost where months are appended,
where the table is refreshed instead, and where only questions that were asked before are free."""

import os
import tempfile
from collections.abc import Iterator
from datetime import date
from fractions import Fraction
from itertools import islice
from pathlib import Path
from random import Random

import numpy as np
import pyarrow as pa

from bench.figure import Figure
from discreet.domain.read import parse_domain
from discreet.domain.region import Box
from discreet.ledger.spend import UNITS, Cost
from discreet.ledger.spend_map import spend_map
from discreet.vault.vault import Vault

MONTHS, QUESTIONS, LONGEST = 60, 1000, 12
PEOPLE = 2000
"""Rows of a month."""
SCALE = 100
"""Of the noise that each answer is to have, or less."""
REGIONS = ("north", "east", "south", "west")
CELLS = 2 * len(REGIONS) * LONGEST
"""Of a month's counts by region and sex, those that the widest question adds up."""
EPSILON = 10_000  # never the limit: what is spent is measured
FEWER = 30
"""How many times less an answer costs where months are appended."""
SAMPLES = {"appended": 100, "refreshed": 500}
"""Of the questions to a vault, one in so many is asked; the others are sums of what was bought before as well."""
DOMAIN = f"""\
name = "register"
[attributes.month]
kind = "date"
low = 2022-01-01
high = 2027-12-31
period = "month"
{{grows}}source = "the calendar"
[attributes.region]
kind = "category"
values = [{", ".join(repr(name) for name in REGIONS)}]
source = "a map"
[attributes.sex]
kind = "category"
values = ["F", "M"]
source = "the form"
"""
Asked = tuple[int, int, str | None, str | None]
"""The first and the last month of a window, and the region and the sex where they are said."""


def figures() -> Iterator[Figure]:
    with tempfile.TemporaryDirectory() as folder:
        os.environ["XDG_STATE_HOME"] = folder  # receipts of a vault that is gone in a minute
        appended, free = _spent(Path(folder), "appended")
        refreshed, free_too = _spent(Path(folder), "refreshed")
    repeats, asked = _spent_by_repeats()
    about = f"{MONTHS} months of {PEOPLE:,} rows, {QUESTIONS:,} questions a month about up to {LONGEST}"
    each = {"appended": appended / asked, "refreshed": refreshed / asked, "repeats": repeats / asked}
    one_in = f"one question in {SAMPLES['appended']} and in {SAMPLES['refreshed']}"
    told = f"scale {SCALE}; {one_in} was asked, {free:.1%} and {free_too:.1%} free"
    note = (
        f"{about}; ε an answer: appended {each['appended']:.2g}, refreshed {each['refreshed']:.2g}, where only repeats "
        f"are free {each['repeats']:.2g}; {told}"
    )
    yield Figure("ε an answer: a refresh each month to appends", refreshed / appended, FEWER, "higher", "×", note)
    yield Figure("ε an answer: repeats alone to appends", repeats / appended, FEWER, "higher", "×", "the same run")


def _name(month: int) -> str:
    return f"{2022 + month // 12}-{month % 12 + 1:02d}"


def _month(month: int) -> pa.Table:
    draw = np.random.default_rng(month)
    days = [date(2022 + month // 12, month % 12 + 1, int(day)) for day in draw.integers(1, 29, PEOPLE)]
    return pa.table({"month": days, "region": draw.choice(REGIONS, PEOPLE), "sex": draw.choice(["F", "M"], PEOPLE)})


def _questions(month: int) -> Iterator[Asked]:
    """What is asked when a month was closed: windows of whole months, mostly of late."""
    draw = Random(month)
    for _ in range(QUESTIONS):
        last = max(month - int(draw.expovariate(1 / 6)), 0)
        first = max(last + 1 - draw.randint(1, LONGEST), 0)
        yield first, last, draw.choice((None, *REGIONS)), draw.choice((None, "F", "M"))


def _sql(asked: Asked) -> str:
    first, last, region, sex = asked
    where = [f"month BETWEEN '{_name(first)}' AND '{_name(last)}'"]
    where += [f"{name} = '{value}'" for name, value in (("region", region), ("sex", sex)) if value is not None]
    return f"SELECT COUNT(*) FROM register WHERE {' AND '.join(where)}"


def _spent(folder: Path, how: str) -> tuple[float, float]:
    """The most ε at any point once all was asked, and the share of answers that were free. Each month its counts by
    region and sex are asked for, sharply enough for the widest window: what is public of earlier months is not bought
    again, and windows are sums of what is there."""
    grows = how == "appended"
    place, months = folder / how, [_month(month) for month in range(MONTHS)]
    domain = folder / f"{how}.toml"
    domain.write_text(DOMAIN.format(grows="grows = true\n" if grows else ""))
    made = {"epsilon": EPSILON, "neighbours": "add-remove", **({"through": _name(0)} if grows else {})}
    vault = Vault.init(place, table=months[0], domain=domain, **made)  # type: ignore[arg-type]
    scale, free, asked = Fraction(SCALE) / Fraction(round(CELLS**0.5 * 1000), 1000), 0, 0
    for month in range(MONTHS):
        if month and grows:
            vault.append(months[month])
        elif month:
            vault.refresh(pa.concat_tables(months[: month + 1]))
        window = f"WHERE month BETWEEN '{_name(0)}' AND '{_name(month)}'"
        vault.ask(f"SELECT month, region, sex, COUNT(*) FROM register {window} GROUP BY 1, 2, 3", scale=scale)
        for question in islice(_questions(month), 0, None, SAMPLES[how]):
            answer = vault.ask(_sql(question), scale=SCALE)
            free += answer.cost == 0
            asked += 1
    return float(vault.budget().spent), free / asked


def _spent_by_repeats() -> tuple[float, int]:
    """The same where a question is free that was asked before, and each other one is measured by itself: the rows of
    earlier months stay as they are. By the ledger's own map."""
    domain = parse_domain(DOMAIN.format(grows=""))
    spent, known, asked = spend_map(domain, EPSILON * UNITS), set[Asked](), 0
    for month in range(MONTHS):
        for question in _questions(month):
            asked += 1
            if question not in known:
                known.add(question)
                spent.add(Cost(0, ((_box(question), UNITS // SCALE),)))
    return spent.spent_max / UNITS, asked


def _box(question: Asked) -> Box:
    first, last, region, sex = question
    regions = (0, len(REGIONS) - 1) if region is None else (REGIONS.index(region),) * 2
    sexes = (0, 1) if sex is None else ("FM".index(sex),) * 2
    return Box((first, regions[0], sexes[0]), (last, regions[1], sexes[1]))
