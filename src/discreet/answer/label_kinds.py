"""What the labels of groups are: texts, whole numbers, numbers or dates. Tables for other libraries are typed so."""

from collections.abc import Sequence

from discreet.answer.view import LabelKind
from discreet.domain.attribute import Integer
from discreet.domain.date import Date
from discreet.domain.domain import Domain
from discreet.query.cells import Labelling
from discreet.query.query import Group


def label_kind(group: Group, domain: Domain) -> LabelKind:
    """Of the groups of an attribute or of an expression."""
    if isinstance(group, Labelling):
        return kind_of_values([value for value in group.values if value is not None])
    attribute = domain[group] if isinstance(group, str) else group.attribute
    if isinstance(attribute, Date):
        return "date"
    return "whole" if isinstance(attribute, Integer) else "text"


def kind_of_values(known: Sequence[object]) -> LabelKind:
    """Of values that are what they are; a column of nothing but NULLs is one of texts."""
    if known and all(isinstance(one, int) and not isinstance(one, bool) for one in known):
        return "whole"
    if known and all(isinstance(one, int | float) and not isinstance(one, bool) for one in known):
        return "number"
    return "text"
