"""How many rows a vault's table has, as far as that is public: by facts, or by the sharpest released count."""

from collections.abc import Iterator

from discreet.domain.domain import Domain
from discreet.facts.facts import CountFact
from discreet.ledger.books import Books
from discreet.ledger.charge import Charge, Record
from discreet.ledger.journal import canonical
from discreet.query.plan import Measurement, Plan
from discreet.query.query import Count, Residual, answer_shape
from discreet.release.release import noise_in_grains
from discreet.vault.public import PublicFacts


def public_rows(facts: PublicFacts) -> float | None:
    """None where nothing public tells. Spends nothing."""
    domain = facts.domain
    for fact in facts.current():
        if not isinstance(fact, CountFact):
            return float(fact.values.sum())
        if fact.terms == ((1, domain.everything),):
            return float(fact.value)
    found: tuple[float, int, Charge, Record] | None = None
    for charge, record in _of_everybody(facts.ledger):
        for place, measurement in enumerate(Plan.from_json(charge.plan).measurements):
            variance = _variance_of_total(measurement, domain)
            if variance is not None and (found is None or variance < found[0]):
                found = variance, place, charge, record
    if found is None:
        return None
    _, place, charge, record = found
    return max(float(facts.recall(charge, record).answers[place].units.sum()), 0.0)


def _of_everybody(ledger: Books) -> Iterator[tuple[Charge, Record]]:
    """The answered charges of the table as it is now that measure something of everybody. Others are not even read."""
    since = ledger.refreshed
    [whole] = ledger.domain.everything.boxes
    everybody = canonical({"where": [[list(whole.low), list(whole.high)]]})[1:-1]
    for entry in ledger.entries(since):
        if entry.kind == "charge" and entry.seq > since and everybody in entry.body:
            charge, record = ledger.charge_at(entry.seq), ledger.recorded(entry.seq)
            if charge is not None and record is not None and ledger.tells_of(charge):
                yield charge, record


def _variance_of_total(measurement: Measurement, domain: Domain) -> float | None:
    """Of the noise in the sum of a measurement's cells; None where that is not the number of rows."""
    query = measurement.query
    is_count = isinstance(query, Count) or (isinstance(query, Residual) and not query.by)
    if not is_count or query.where != domain.everything or not all(isinstance(group, str) for group in query.by):
        return None
    cells = 1
    for size in answer_shape(query, domain):
        cells *= size
    return noise_in_grains(measurement, domain).variance * cells
