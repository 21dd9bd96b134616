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
