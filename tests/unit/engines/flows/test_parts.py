"""The small parts of flows: where a step leads, what launch parameters are, and which part of an output a path names."""

from typing import Any

import pytest

from engines.flows.core.definition import FlowStep, Route, find_route_after_failure, find_route_after_success, list_next, may_end
from engines.flows.core.outputs import Reference, list_references, read_reference
from orchestrator.engines.shared.declared import LaunchParameter
from orchestrator.engines.shared.parameters import ParameterMistake, read_parameters


def step(**transitions: Any) -> FlowStep:
    return FlowStep.model_validate({"id": "a", "agentVersionId": "x", "transitions": transitions})


@pytest.mark.req("S002-34", "S002-35", "S002-38", "S002-A2")
@pytest.mark.parametrize(("given", "route"), [
    ({}, Route()), ({"next": "b"}, Route(next_step="b")), ({"next": "b", "complete": False}, Route(next_step="b")),
    ({"next": "b", "complete": True}, Route()), ({"complete": True}, Route()), ({"next": ""}, Route()), ({"next": None}, Route()),
])  # fmt: skip
def test_success_leads_to_the_next_step_or_completes(given: dict[str, Any], route: Route) -> None:
    """`complete: true` counts more than `next`; without either the flow is complete."""
    assert find_route_after_success(step(onSuccess=given)) == route


@pytest.mark.req("S002-36", "S002-37", "S002-39", "S002-A1")
@pytest.mark.parametrize(("given", "route"), [
    ({}, Route(ending="failed")), ({"fail": True}, Route(ending="failed")), ({"fail": False}, Route(ending="completed")),
    ({"next": "b"}, Route(next_step="b")), ({"next": "b", "fail": False}, Route(next_step="b")),
    ({"next": "b", "fail": True}, Route(next_step="b", is_doomed=True)),
])  # fmt: skip
def test_failure_leads_to_a_handler_or_fails(given: dict[str, Any], route: Route) -> None:
    """A handler with `fail: true` runs, and the flow fails all the same; without it the flow has recovered."""
    assert find_route_after_failure(step(onFailure=given)) == route


def test_what_may_follow_a_step_is_listed_once() -> None:
    """Both ways may lead to the same step; a flow may end where one way leads nowhere."""
    both = step(onSuccess={"next": "b"}, onFailure={"next": "b"})
    assert (list_next(both), may_end(both)) == (["b"], False)
    assert may_end(step(onSuccess={"next": "b"}))
    assert may_end(step(onSuccess={"next": "b", "complete": True}, onFailure={"next": "b"}))


def declare(**fields: Any) -> list[LaunchParameter]:
    return [LaunchParameter.model_validate({"name": "a", **fields})]


@pytest.mark.req("S002-20", "S002-A12", "S002-X10")
@pytest.mark.parametrize(("fields", "given", "read", "mistakes"), [
    ({}, {"a": "x"}, {"a": "x"}, []),
    ({}, {}, {}, [ParameterMistake("a", "missing", "string")]),
    ({}, {"a": None}, {}, [ParameterMistake("a", "missing", "string")]),
    ({"required": False}, {}, {}, []),
    ({"default": "y"}, {}, {"a": "y"}, []),
    ({}, {"a": 5}, {}, [ParameterMistake("a", "type", "string")]),
    ({"type": "number"}, {"a": 5.5}, {"a": 5.5}, []),
    ({"type": "number"}, {"a": True}, {}, [ParameterMistake("a", "type", "number")]),
    ({"type": "boolean"}, {"a": False}, {"a": False}, []),
    ({"type": "boolean"}, {"a": 0}, {}, [ParameterMistake("a", "type", "boolean")]),
    ({"type": "array"}, {"a": []}, {"a": []}, []),
    ({"type": "object"}, {"a": []}, {}, [ParameterMistake("a", "type", "object")]),
    ({"choices": ["x", "y"]}, {"a": "z"}, {}, [ParameterMistake("a", "choice", "x, y")]),
    ({}, {"a": "x", "b": 1}, {"a": "x"}, [ParameterMistake("b", "unknown", "a")]),
])  # fmt: skip
def test_launch_parameters_are_checked(
    fields: dict[str, Any], given: dict[str, Any], read: dict[str, Any], mistakes: list[ParameterMistake]
) -> None:
    """All mistakes are told at once; true is no number, and what nobody gives is its default."""
    assert read_parameters(declare(**fields), given) == (read, mistakes)


@pytest.mark.req("S002-42", "S002-43", "S002-A9")
@pytest.mark.parametrize(("path", "reference"), [
    ("steps.a.output.content", Reference("a", ("content",))), ("$steps.a.output.rows.0.name", Reference("a", ("rows", "0", "name"))),
    ("$steps.a.output.rows[0].name", Reference("a", ("rows", "0", "name"))),
    ("steps.a.output[2]['b'][\"в г\"]", Reference("a", ("2", "b", "в г"))), ("steps.a.output", Reference("a")), ("steps.a", None),
    ("steps.a.output.", None), ("steps.a.output..b", None), ("steps.a.outputb", None), ("steps.а.output.b", None),
    ("a.output.b", None), ("steps.a.output.b" * 100, None),
])  # fmt: skip
def test_paths_name_a_part_of_a_step_s_output(path: str, reference: Reference | None) -> None:
    """Names with letters of other alphabets, and paths with nothing between points, are none."""
    assert read_reference(path) == reference


def test_a_path_that_leads_nowhere_is_nothing() -> None:
    """None, and no error: agents answer what they like."""
    output = {"content": "x", "rows": [{"name": "А"}], "empty": None}
    assert Reference("a", ("rows", "0", "name")).find(output) == "А"
    for fields in (("rows", "1"), ("rows", "-1"), ("rows", "²"), ("rows", "9" * 30), ("content", "0"), ("none",), ("empty", "x")):
        assert Reference("a", fields).find(output) is None
    assert Reference("a").find(output) == output


def test_texts_of_the_result_are_replaced_where_they_begin_with_the_mark() -> None:
    """At any depth, with their places; other texts stay."""
    payload = {"a": "$steps.x.output", "b": [{"c": "$steps.y.output.z"}, "steps.x.output"], "d": 5}
    assert sorted(list_references(payload), key=str) == [(("a",), "$steps.x.output"), (("b", 0, "c"), "$steps.y.output.z")]
