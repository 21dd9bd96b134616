"""What the types of runes say of themselves holds: their examples are correct, and tell which variables they read and give."""

import pytest

from engines.workflows.core.definition import Rune, Workflow
from engines.workflows.core.registry import build_rune_types

TYPES = build_rune_types()


@pytest.mark.req("S003-5", "S003-6", "S003-7")
@pytest.mark.parametrize("name", TYPES)
def test_the_example_of_a_type_is_a_rune(name: str) -> None:
    """The example of each type is a rune of it, and what it reads or gives can be told."""
    kind = TYPES[name]
    rune = Rune.model_validate({"runeType": name, **kind.example})
    params = kind.params.model_validate(kind.example)
    assert rune.enabled
    assert [*kind.list_consumes(params), *kind.list_reads(params), *kind.list_produces(params)]


@pytest.mark.req("S003-40")
def test_a_template_says_what_it_reads() -> None:
    """The names in `{{…}}` are what a rune reads, at any depth of its parameters."""
    kind = TYPES["query"]
    params = kind.params.model_validate(
        {"method": "crm.deal.list", "params": {"filter": {"A": ["{{first}}", "x {{ second }}"]}}, "output": "x"}
    )
    assert list(kind.list_reads(params)) == ["first", "second"]


def test_two_types_of_one_name_are_refused() -> None:
    """A plugin cannot take the name of a type that is there."""
    with pytest.raises(ValueError, match="two types of runes are called prompt"):
        build_rune_types([TYPES["prompt"]])


@pytest.mark.req("S003-4", "S003-73")
def test_a_workflow_holds_tuums_or_names_them() -> None:
    """A tuum stands in a workflow itself, or by the key of one that is stored on its own."""
    workflow = Workflow.model_validate({"workflowId": "dossier", "tuums": [{"tuum": "deals@2", "id": "first"}, {"tuumId": "letter"}]})
    assert [type(one).__name__ for one in workflow.tuums] == ["TuumReference", "Tuum"]
