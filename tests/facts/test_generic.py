"""S_Q: the thesis' examples, closed forms against enumeration, and everything against the definition of neighbours."""

import itertools
from collections import Counter

import pytest

from discreet.errors import InvalidFact
from discreet.facts import generic
from discreet.facts.generic import induced_by, sensitivity, sensitivity_of_cuboid
from discreet.ledger.budget import Induced
from tests.facts.small import count, cuboid, small_domain

SEX_AGE_SALARY = small_domain(2, 7, 5)  # a is Sex, b is Age, c is Salary


@pytest.mark.parametrize(
    ("sizes", "known", "people"),
    [
        ((2, 7, 5), ["a"], 2),
        ((2, 7, 5), [""], 2),  # n is known
        ((2, 7, 5), ["a", "b"], 4),
        ((2, 7, 5), ["ab", "bc"], 4),  # cubes, Example 5.2.1: 2·min{|Sex|, |Salary|}
        ((2, 7, 5), ["b", "c"], 10),
        ((2, 7, 5), ["ab", "c"], 10),
        ((2, 7, 5), ["bc", "b"], 2),  # one contains the other
        ((2, 7, 5), ["bc", "b", ""], 2),
        ((2, 7, 5), ["abc"], 0),  # nothing is left to protect
        ((2, 7, 5), ["abc", "a"], 0),
        ((4, 4), ["a", "b"], 8),  # cubes, Lemma 5.2.1: 2·min{|A1|, |A2|}
        ((2, 2, 2), ["a", "b", "c"], 6),  # cubes, Figure 5.1
        # cubes, Section 5.2.1 prints 6; {000,000,011,112} and {002,010,010,101} are neighbours.
        ((2, 2, 3), ["a", "b", "c"], 8),
        ((2, 2, 4), ["a", "b", "c"], 8),
        ((2, 2, 2), ["ab", "bc", "ac"], 8),
        ((2, 3, 3), ["ab", "bc", "ac"], 12),
        ((3, 2, 2, 2), ["ab", "ac", "ad"], 6),  # for each value of a the first case, apart
    ],
)
@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
def test_cuboids(sizes, known, people, neighbours):
    domain = small_domain(*sizes)
    facts = [cuboid(domain, by) for by in known]
    assert sensitivity(facts, domain, neighbours) == Induced(people, people**2 // 2)


def test_the_move_that_the_thesis_missed_is_primitive():
    domain = small_domain(2, 2, 3)
    facts = [cuboid(domain, by) for by in "abc"]
    before, after = (
        Counter([(0, 0, 0)] * 2 + [(0, 1, 1), (1, 1, 2)]),
        Counter([(0, 0, 2), (0, 1, 0), (0, 1, 0), (1, 0, 1)]),
    )
    assert are_neighbours(before, after, facts, domain)


def rows_of(facts, domain):
    return [terms for fact in facts for terms, _ in fact.rows(domain)]


def seen(people, rows):
    """What the facts say of some people, each a tuple of the points of their rows."""
    return tuple(
        sum(
            number * times
            for person, number in people.items()
            for times, region in terms
            for point in person
            if point in region
        )
        for terms in rows
    )


def are_neighbours(before, after, facts, domain, fixed=False):
    """cubes, Definition 5.1.4, word by word: no part of the change leads to a third table with the same facts."""
    alone = [Counter({(point,): number for point, number in table.items()}) for table in (before, after)]
    return are_neighbouring_people(*alone, rows_of(facts, domain), fixed)


def are_neighbouring_people(before, after, rows, fixed):
    """The same for people with several rows; `fixed`: the number of people is public as well."""
    kinds = sorted(set(before) | set(after))
    change = [after[kind] - before[kind] for kind in kinds]
    zero = (0,) * len(rows)
    between = [
        part
        for part in itertools.product(*(range(min(c, 0), max(c, 0) + 1) for c in change))
        if seen(Counter(dict(zip(kinds, part, strict=True))), rows) == zero and not (fixed and sum(part))
    ]
    return len(between) == 2 and tuple(change) in between


def furthest_neighbours(facts, domain, most, fixed=False, max_rows=1, absent=False):
    """The most people that change between induced neighbours of at most `most` people, by trying all tables."""
    points = list(itertools.product(*map(range, domain.shape)))
    kinds = [
        person
        for size in range(0 if absent else 1, max_rows + 1)
        for person in itertools.combinations_with_replacement(points, size)
    ]
    rows = rows_of(facts, domain)
    tables = {}
    for size in range(most + 1):
        for people in itertools.combinations_with_replacement(kinds, size):
            table = Counter(people)
            tables.setdefault((seen(table, rows), size if fixed else 0), []).append(table)
    furthest = Induced()
    for alike in tables.values():
        for before, after in itertools.combinations(alike, 2):
            added = sum(number for person, number in (after - before).items() if person)
            removed = sum(number for person, number in (before - after).items() if person)
            far = Induced(added + removed, added**2 + removed**2)
            if far != furthest.or_more(far) or far == furthest:
                continue
            if are_neighbouring_people(before, after, rows, fixed):
                furthest = furthest.or_more(far)
    return furthest


PAIRS, QUADS = ((0, 2), (1, 2)), ((3, 4, 5, 6), (4, 6), (5, 6))
LEFT, TOP, CORNER = ((0, 0), (0, 1)), ((0, 1), (0, 0)), ((0, 0), (0, 0))  # of a 2 × 2 domain


@pytest.mark.parametrize(
    ("sizes", "facts", "most"),
    [
        ((2, 2), lambda d: [cuboid(d, "a"), cuboid(d, "b")], 4),
        ((2, 3), lambda d: [cuboid(d, "a"), cuboid(d, "b")], 3),
        ((2, 2), lambda d: [count(d, (1, LEFT))], 3),
        ((2, 2), lambda d: [count(d, (1, LEFT)), count(d, (1, TOP))], 4),
        ((2, 2), lambda d: [count(d, (1, CORNER))], 3),
        ((2, 2), lambda d: [count(d, (1, LEFT), (2, TOP))], 4),
        ((2, 2), lambda d: [count(d, (2, LEFT), (3, CORNER))], 5),
        ((2, 2), lambda d: [cuboid(d, "a"), count(d, (1, TOP))], 4),
        ((3,), lambda d: [count(d, (1, [(0, 0)]), (2, [(1, 1)]), (3, [(2, 2)]))], 5),
        ((2,), lambda d: [count(d, (1, [(0, 0)])), count(d, (1, [(1, 1)]))], 3),
        # Codes 0, 1, 2 and nobody, and codes 3 to 6: both move alike, and nobody is no person.
        ((7,), lambda d: [count(d, *((1, [(code, code)]) for code in seen)) for seen in (*PAIRS, *QUADS)], 2),
    ],
)
@pytest.mark.parametrize(("neighbours", "total"), [("add-remove", True), ("replace", True), ("replace", False)])
def test_it_is_the_largest_distance_of_induced_neighbours(sizes, facts, most, neighbours, total):
    domain = small_domain(*sizes, total=total)
    known, fixed = facts(domain), neighbours == "replace"
    furthest = furthest_neighbours(known, domain, most, fixed, absent=fixed and not total)
    assert sensitivity(known, domain, neighbours, dropped=not total) == furthest


@pytest.mark.parametrize(
    ("facts", "max_rows", "most"),
    [
        (lambda d: [cuboid(d, "")], 2, 3),
        (lambda d: [count(d, (1, [(0, 0)]))], 2, 3),
        (lambda d: [cuboid(d, "a")], 2, 4),
    ],
)
def test_people_with_several_rows_change_together(facts, max_rows, most):
    domain = small_domain(2, total=False)
    known = facts(domain)
    assert sensitivity(known, domain, max_rows=max_rows) == furthest_neighbours(known, domain, most, max_rows=max_rows)


@pytest.mark.parametrize(("max_rows", "people"), [(1, 2), (2, 3), (3, 5), (4, 7), (5, 9)])
def test_a_known_total_lets_2k_less_1_people_of_up_to_k_rows_change(max_rows, people):
    # k people with k−1 rows for k−1 people with k rows: the longest primitive partition identity
    # [Diaconis, Graham, Sturmfels 1996].
    domain = small_domain(3, 2, total=False)
    assert sensitivity([cuboid(domain, "")], domain, max_rows=max_rows).people == people


def test_facts_about_two_versions_of_a_table_reach_further_together():
    domain = small_domain(3, total=False)
    old, new = cuboid(domain, ""), cuboid(domain, "", table=7)
    assert sensitivity([old], domain).people == 2
    # Somebody in both for somebody in the old one and somebody in the new one.
    assert sensitivity([old, new], domain).people == 3
    by_code = [cuboid(domain, "a"), cuboid(domain, "a", table=7)]
    assert (
        sensitivity(by_code, domain).people
        == sensitivity([cuboid(small_domain(4, 4), "a"), cuboid(small_domain(4, 4), "b")], small_domain(4, 4)).people
        - 1
    )  # being in neither version is no kind of person


@pytest.mark.parametrize(
    ("facts", "people"),
    [
        (lambda d: [cuboid(d, "a"), count(d, (1, [(0, 0), (0, 2), (0, 4)]))], 2),  # follows from the cuboid
        (lambda d: [cuboid(d, "ab"), count(d, (1, [(0, 0), (0, 6), (0, 2)]))], 4),
        (lambda d: [cuboid(d, "ab"), cuboid(d, "a"), count(d, (1, [(0, 1), (0, 6), (0, 2)]))], 4),
        (lambda d: [cuboid(d, ""), count(d, (1, [(0, 0), (0, 6), (0, 2)]))], 2),
    ],
)
def test_counts_beside_cuboids_are_one_more_way_to_part_people(facts, people):
    known = facts(SEX_AGE_SALARY)
    assert sensitivity(known, SEX_AGE_SALARY).people == people
    if generic._finest_cuboids(known, SEX_AGE_SALARY) is None:
        atoms = generic.atoms_of(known, SEX_AGE_SALARY)
        enumerated = generic._largest_move(*generic._kinds([(atoms, 1)], False, False))
        assert enumerated.people == people


def test_a_count_that_follows_from_a_cuboid_makes_nothing_harder_to_work_out():
    domain = small_domain(40, 40)
    cuboids = [cuboid(domain, "a"), cuboid(domain, "b")]
    young = count(domain, (1, [(0, 5), (0, 39)]))
    assert sensitivity([*cuboids, young], domain) == sensitivity(cuboids, domain) == Induced(80, 3200)


def test_counts_that_cancel_each_other_do_not_tell_how_many_people_there_are():
    domain = small_domain(2, 2)
    everybody = ((0, 1), (0, 1))
    nothing = count(domain, (1, LEFT), (1, ((1, 1), (0, 1))), (-1, everybody))
    weighted = count(domain, (1, everybody), (1, LEFT))
    assert sensitivity([weighted], domain) == Induced(3, 5)  # one at the left for two at the right
    assert sensitivity([nothing, weighted], domain) == Induced(3, 5)


def test_whoever_is_in_a_table_without_facts_alone_counts_towards_a_limit_where_people_are_replaced():
    domain = small_domain(2, 2)
    weighted = count(domain, (1, ((0, 1), (0, 1))), (1, LEFT))
    assert sensitivity([weighted], domain, "replace", dropped=False) == Induced(2, 2)
    # Two at the right of the one table leave, and at its left comes one; one more person is in the other table only.
    assert induced_by([weighted], domain, "replace", dropped=False) == Induced(4, 8)
    assert induced_by([weighted], domain, "add-remove") == Induced(3, 5)
    assert induced_by([cuboid(domain, "")], domain, "replace", max_rows=2) == Induced(4, 8)


def test_counts_are_exact_on_domains_of_any_size():
    domain = small_domain(10**6, 10**6, 10**6)
    women = count(domain, (1, [(0, 499_999), (0, 10**6 - 1), (0, 10**6 - 1)]))
    old = count(domain, (1, [(0, 10**6 - 1), (700_000, 10**6 - 1), (0, 10**6 - 1)]))
    assert sensitivity([women], domain) == Induced(2, 2)
    assert sensitivity([women, old], domain) == Induced(3, 5)
    assert sensitivity([women, old, cuboid(domain, "")], domain) == Induced(4, 8)
    assert sensitivity([women, old], domain, "replace") == Induced(4, 8)


def test_what_cannot_be_enumerated_is_refused_with_the_reason():
    crossing = [count(SEX_AGE_SALARY, (1, [(0, 0), (0, at), (0, 2)])) for at in range(6)]
    with pytest.raises(InvalidFact, match="70 kinds of rows hang together; at most 63"):
        sensitivity([*(cuboid(SEX_AGE_SALARY, by) for by in "abc"), *crossing], SEX_AGE_SALARY)
    wide = small_domain(1000, 1000, 1000)
    with pytest.raises(InvalidFact, match="at most 1,048,576"):
        sensitivity([cuboid(wide, by) for by in "abc"], wide)
    with pytest.raises(InvalidFact, match="too many kinds of people"):
        sensitivity([cuboid(wide, "a")], wide, max_rows=3)


def test_no_limit_is_set_by_less_than_two_people():
    domain = small_domain(2, 3)
    assert induced_by([], domain, "add-remove") == Induced()
    assert induced_by([cuboid(domain, "ab")], domain, "add-remove") == Induced(2, 2)


@pytest.mark.parametrize(
    ("sizes", "known"),
    [((2, 2, 2), ["a", "b"]), ((2, 2, 3), ["a", "b"]), ((2, 2, 2), ["ab", "bc"]), ((2, 2, 2), ["a"])],
)
def test_the_projection_property(sizes, known):
    # cubes, Lemma 5.2.4
    domain = small_domain(*sizes)
    facts = [cuboid(domain, by) for by in known]
    base = sensitivity(facts, domain).people
    assert sensitivity_of_cuboid(facts, domain, "abc") == base
    for size in range(4):
        for by in itertools.combinations("abc", size):
            computable = any(set(by) <= set(fact) for fact in known)
            found = sensitivity_of_cuboid(facts, domain, by)
            assert found <= base
            assert (found == 0) == computable
            if set(by) - set("".join(known)):
                assert found == base
            elif not computable:
                assert found >= base / 2


def test_attributes_that_no_fact_looks_at_cost_no_work():
    # cubes, Lemma 5.2.4: a cuboid with one attribute beside the facts' own moves as much as the base cuboid.
    small, large = small_domain(2, 2, 3, 2), small_domain(2, 2, 3, 1000, 1000, 1000, 1000, 1000)
    for domain in (small, large):
        facts = [cuboid(domain, by) for by in "abc"]
        assert generic.atoms_of(facts, domain).labels.shape[1] == 12
        assert sensitivity(facts, domain) == Induced(8, 32)
    assert sensitivity_of_cuboid([cuboid(small, by) for by in "abc"], small, "abcd") == 8
