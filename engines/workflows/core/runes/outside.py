"""Runes that read the CRM, propose changes, show something, or make the result (S003-16…18, 41, 66…69)."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from pydantic import Field, ValidationError

from engines.workflows.core.operations import OperationUnfit, read_operation
from engines.workflows.core.results import DisplayUpdatePayload, EntityType, ModifyOperator, OperationType, UpdateMode
from engines.workflows.core.rune_types import (
    AUTHOR,
    NO_CHANGES,
    AnyRuneType,
    Changes,
    Local,
    RuneCall,
    RuneMistake,
    RuneParams,
    RuneType,
    list_placeholders,
)
from orchestrator.domain.taint import Value, join_origins, split_values
from orchestrator.domain.value_faults import describe_fault
from orchestrator.engines.shared.left_out import leave_out_fields
from orchestrator.expressions.placeholders import format_value


class QueryParams(RuneParams):
    """What is read."""

    method: str = Field(min_length=1, max_length=200, description="A method that reads, such as crm.deal.list.")
    params: dict[str, Any] = Field(default_factory=dict, description="Its parameters; their texts may hold {{variable}}.")
    output: Local = Field(description="The variable that gets the result.")


class OperationParams(RuneParams):
    """The change that is proposed (S003-X9)."""

    operation_type: OperationType = Field(description="What is done.")
    entity_type: EntityType = Field(description="The kind of record.")
    entity_id: str = Field("", max_length=500, description="Its number, with {{variable}}; a name of your own for one that is made.")
    initial_attributes: dict[str, Any] = Field(default_factory=dict, description="The fields of one that is made.")
    attribute_key: str = Field("", max_length=500, description="The field that is changed.")
    modify_operator: ModifyOperator = Field("=", description="How it is changed.")
    modify_value: Any = Field(None, description="To what, or by how much; texts may hold {{variable}}.")


class DisplayParams(RuneParams):
    """What is shown before the run ends."""

    content: str = Field(min_length=1, max_length=100_000, description="Written as the text of a result, with {{variable}}.")
    update_mode: UpdateMode = Field("FullSnapshot", description="Whether it replaces what was shown, or changes it.")
    incremental_type: str | None = Field(None, max_length=100, description="How a change is written, such as json-patch.")


class TerminalParams(RuneParams):
    """Which variables are the result."""

    raw_text: Local | None = Field(None, description="The variable that is the text of the result.")
    operations: Local | None = Field(None, description="The variable whose operations follow those that were emitted.")


async def _query(call: RuneCall[QueryParams]) -> Changes:
    rows = await call.work.query(call.node, call.params.method, call.fill(call.params.params))
    return {call.params.output: rows}


async def _propose(call: RuneCall[OperationParams]) -> Changes:
    params = call.params
    initial, changed = call.fill_noting(params.initial_attributes), call.fill_noting({"value": params.modify_value})
    fields, left_out = leave_out_fields(initial.data, initial.empty)
    changes, is_gone = leave_out_fields(changed.data, changed.empty)
    filled = {
        "operationType": params.operation_type,
        "entityType": params.entity_type,
        "entityId": call.fill(params.entity_id),
        "initialAttributes": {**initial.data, **fields} or None,
        "attributeKey": call.fill(params.attribute_key) or None,
        "modifyOperator": params.modify_operator if params.operation_type == "ModifyEntity" else None,
        "modifyValue": None if is_gone else changes["value"],
    }
    data, values = split_values(filled)
    try:
        operation = read_operation(data)
    except OperationUnfit as error:
        raise call.fail(str(error)) from None
    if operation.operation_type == "ModifyEntity" and is_gone:
        left_out = (str(operation.attribute_key),)
    call.work.emit(operation, join_origins(values) | AUTHOR, left_out)
    return NO_CHANGES


async def _show(call: RuneCall[DisplayParams]) -> Changes:
    content = call.fill(call.params.content)
    value = content if isinstance(content, Value) else Value(content)
    try:
        payload = DisplayUpdatePayload(
            content=format_value(value.data), update_mode=call.params.update_mode, incremental_type=call.params.incremental_type
        )
    except ValidationError as error:
        raise call.fail(f"what is to be shown is no display update: {describe_fault(error.errors()[0])}") from None
    await call.work.show(payload, value.origins | AUTHOR)
    return NO_CHANGES


async def _end_with(call: RuneCall[TerminalParams]) -> Changes:
    params = call.params
    call.work.end_with(
        raw_text=call.variables.get(params.raw_text) if params.raw_text else None,
        operations=call.variables.get(params.operations) if params.operations else None,
    )
    return NO_CHANGES


def _list_operation(params: OperationParams) -> list[str]:
    return [*list_placeholders([params.entity_id, params.attribute_key, params.initial_attributes, params.modify_value])]


def _find_query_mistakes(params: QueryParams) -> Iterator[RuneMistake]:
    if next(iter(list_placeholders(params.method)), None) is not None:
        yield RuneMistake(path=("method",), code="finding-rune-method-template", args={"name": params.method})


def _find_operation_mistakes(params: OperationParams) -> Iterator[RuneMistake]:
    kind = params.operation_type
    has = {
        "entityId": bool(params.entity_id.strip()),
        "initialAttributes": bool(params.initial_attributes),
        "attributeKey": bool(params.attribute_key.strip()),
        "modifyValue": "modify_value" in params.model_fields_set,
    }
    for name in ("entityId", *_NEEDS[kind]):
        if not has[name]:
            yield RuneMistake(path=(name,), code="finding-rune-operation-lacks", args={"operation": kind, "name": name})
    for name in has.keys() - {"entityId", *_NEEDS[kind]}:
        if has[name]:
            yield RuneMistake(path=(name,), code="finding-rune-operation-extra", args={"operation": kind, "name": name})
    if kind == "DeleteEntity":
        yield RuneMistake(path=("operationType",), code="finding-rune-operation-deletes")


def _find_display_mistakes(params: DisplayParams) -> Iterator[RuneMistake]:
    if params.incremental_type is not None and params.update_mode != "Incremental":
        yield RuneMistake(path=("incrementalType",), code="finding-rune-incremental-type")


_NEEDS: Final[Mapping[OperationType, tuple[str, ...]]] = {
    "CreateEntity": ("initialAttributes",),
    "ModifyEntity": ("attributeKey", "modifyValue"),
    "DeleteEntity": (),
}
TYPES: Final[tuple[AnyRuneType, ...]] = (
    RuneType[QueryParams](
        name="query",
        summary="Reads from the CRM.",
        params=QueryParams,
        perform=_query,
        example={"method": "crm.deal.list", "params": {"filter": {"CONTACT_ID": "{{contact}}"}}, "output": "deals"},
        list_reads=lambda params: list_placeholders(params.params),
        list_produces=lambda params: (params.output,),
        prepares=True,
        find_mistakes=_find_query_mistakes,
    ),
    RuneType[OperationParams](
        name="operation",
        summary="Proposes a change of a record; whoever started the workflow decides about it.",
        params=OperationParams,
        perform=_propose,
        example={
            "operationType": "ModifyEntity",
            "entityType": "deal",
            "entityId": "{{deal}}",
            "attributeKey": "COMMENTS",
            "modifyValue": "{{summary}}",
        },
        list_reads=_list_operation,
        emits=True,
        find_mistakes=_find_operation_mistakes,
    ),
    RuneType[DisplayParams](
        name="display",
        summary="Shows something while the workflow runs.",
        params=DisplayParams,
        perform=_show,
        example={"content": "{{count}} deals are read"},
        list_reads=lambda params: list_placeholders(params.content),
        find_mistakes=_find_display_mistakes,
    ),
    RuneType[TerminalParams](
        name="terminal",
        summary="Makes variables of this tuum the result of the workflow.",
        params=TerminalParams,
        perform=_end_with,
        example={"rawText": "letter"},
        list_consumes=lambda params: tuple(one for one in (params.raw_text, params.operations) if one),
        is_terminal=True,
    ),
)
