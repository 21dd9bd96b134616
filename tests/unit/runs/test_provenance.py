"""What the gate is told of the values in a run's effect."""

from typing import Any

import pytest

from orchestrator.domain.taint import NOWHERE, Origin, Value
from orchestrator.runs.foreign_texts import ForeignTexts
from orchestrator.runs.provenance import build_provenance

ATTACK = {"$ne": None, "deep": [{"$where": "1"}]}


@pytest.mark.parametrize("origin", ["person", "label", "prose", "model", "document", "web", "database"])
def test_the_names_of_fields_in_objects_from_outside_are_told(origin: Origin) -> None:
    """So that a kind of effect whose service reads some names as orders can refuse them."""
    params: dict[str, Any] = {"collection": "deals", "query": {"owner": Value(ATTACK, frozenset({origin, "definition"}))}}
    data, provenance = build_provenance(params, ForeignTexts({}))
    assert data["query"] == {"owner": ATTACK}
    assert provenance.keys == {"$ne", "deep", "$where"}


@pytest.mark.parametrize("origins", [NOWHERE, frozenset({"definition"})])
def test_what_the_author_wrote_is_no_object_from_outside(origins: Any) -> None:
    _, provenance = build_provenance({"query": {"$or": [{"a": Value(ATTACK, origins)}]}}, ForeignTexts({}))
    assert provenance.keys == frozenset()


@pytest.mark.parametrize(
    ("given", "is_theirs"),
    [
        ("2026-11-24", False),
        ("2026-11-24T10:00:00+03:00", False),
        ("2026-12-01", True),
        ("2026-12-01T18:00:00+03:00", True),
        ("до 2026-11-24", True),
        ("120000", True),
    ],
)
def test_a_day_is_theirs_only_if_it_is_the_very_day_that_they_wrote(given: str, *, is_theirs: bool) -> None:
    """The year stands in each record that has a date: a deadline that the author counted is not theirs for it."""
    foreign = ForeignTexts({})
    foreign.add(Value({"CLOSEDATE": "2026-12-01T00:00:00+03:00", "OPPORTUNITY": "120000.00"}, frozenset({"prose"})))
    assert foreign.holds({"DEADLINE": given}) is is_theirs
