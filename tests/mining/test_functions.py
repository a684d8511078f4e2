"""All Boolean functions of two attributes, and of pairs among several parties."""

from itertools import product

import numpy as np
import pytest

from discreet.errors import PartyError
from discreet.mining.functions import FUNCTIONS, functions
from experiments.sulq.simulated import Population


def three_parties(queries: float = 10_000):
    """Eight cells of a, b and c, each attribute at a party of its own."""
    generator = np.random.default_rng(3)
    cells = generator.multinomial(1_000_000, generator.dirichlet(np.ones(8)))
    place = np.arange(8)
    held = {name: (place >> bit & 1).astype(bool) for bit, name in enumerate("abc")}
    population = Population(cells, held, generator)
    return population, [(population.party(20_000, queries), name) for name in "abc"]


def test_there_are_sixteen_functions_and_each_is_called_what_it_is():
    assert len(set(FUNCTIONS.values())) == 16
    for name, values in FUNCTIONS.items():
        python = (
            name.replace("<>", "!=").replace(" = ", " == ").lower().replace("false", "False").replace("true", "True")
        )
        cases = [(True, True), (True, False), (False, True), (False, False)]
        assert values == tuple(int(eval(python, {"a": a, "b": b})) for a, b in cases)


def test_every_function_of_two_is_found():
    population, attributes = three_parties()
    [found] = functions(*attributes[:2], queries=2000, confidence=0.999)
    a, b = population.predicates["a"], population.predicates["b"]
    for name, (both, alone, other, neither) in FUNCTIONS.items():
        holds = np.where(a & b, both, np.where(a, alone, np.where(b, other, neither))).astype(bool)
        truth = population.cells[holds].sum() / population.people
        estimate = found.probabilities[name]
        assert estimate.low <= truth <= estimate.high, name
    assert found.probabilities["TRUE"].value == found.probabilities["TRUE"].low == 1
    assert found.probabilities["FALSE"].value == found.probabilities["FALSE"].high == 0


def test_opposites_add_up_to_one():
    _, attributes = three_parties()
    [found] = functions(*attributes[:2], queries=200)
    for (name, values), (other, opposite) in product(FUNCTIONS.items(), repeat=2):
        if all(first != second for first, second in zip(values, opposite, strict=True)):
            assert found.probabilities[name].value + found.probabilities[other].value == pytest.approx(1)


def test_several_parties_are_mined_pairwise_and_asked_once():
    population, attributes = three_parties()
    found = functions(*attributes, queries=500)
    assert [(pair.alpha, pair.beta) for pair in found] == [("a", "b"), ("a", "c"), ("b", "c")]
    assert [party.queries_left for party, _ in attributes] == [9500] * 3
    for pair in found:
        met = population.predicates[pair.alpha] & population.predicates[pair.beta]
        truth = population.cells[met].sum() / population.people
        assert pair.probabilities["a AND b"].value == pytest.approx(truth, abs=0.05)


def test_the_error_is_kept_by_the_worst_function():
    _, attributes = three_parties()
    [found] = functions(*attributes[:2], error=0.05)
    widths = {name: estimate.halfwidth for name, estimate in found.probabilities.items()}
    assert max(widths, key=widths.get) in ("a = b", "a <> b")
    assert max(widths.values()) <= 0.05


def test_too_few_queries_are_refused_before_any_is_spent():
    _, attributes = three_parties(queries=100)
    with pytest.raises(PartyError, match=r"and 100 are left .* 100 for each predicate would give ±0\.\d"):
        functions(*attributes, error=0.01)
    with pytest.raises(PartyError, match="two attributes or more"):
        functions(attributes[0])
    assert all(not party.asked for party, _ in attributes)
