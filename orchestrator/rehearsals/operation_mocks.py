"""Outcomes of operations as mocks: an object with fields but `result`, otherwise the result alone."""

from collections.abc import Mapping
from typing import Any, Final, Literal

from pydantic import Field, ValidationError

from orchestrator.domain.outcome import CommandReport, Outcome
from orchestrator.domain.outputs import Notice
from orchestrator.rehearsals.case import FilePart
from orchestrator.rehearsals.recorded_nodes import build_mock

_ALREADY: Final = Notice(code="gate-already-so")


class _CommandError(FilePart):
    error: str


class _OperationMock(FilePart):
    result: Any = Field(None, description="What the portal answers.")
    created: str = Field("", description="The record that was made, such as lead:481.")
    already: str | None = Field(None, description="Why nothing was sent: what it should bring about was there already.")
    commands: dict[str, Literal["success", "not_run"] | _CommandError] = Field(
        default_factory=dict, description="Of several operations what became of each, by op01, op02 and so on."
    )


_OWN: Final = frozenset(_OperationMock.model_fields) - {"result"}


def apply_operation_mock(outcome: Outcome) -> Outcome:
    """Raises ValueError that names the wrong field."""
    mock_data = outcome.result
    if not isinstance(mock_data, Mapping) or not _OWN & set(mock_data) or set(mock_data) - _OWN - {"result"}:
        return outcome
    try:
        mock = _OperationMock.model_validate(mock_data)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        raise ValueError(f"{'.'.join(map(str, first['loc']))}: {first['msg']}") from None
    if mock.already is not None:
        return outcome.model_copy(update={"status": "refused", "result": None, "reason": _ALREADY, "detail": mock.already})
    commands = tuple(_read_command(key, command) for key, command in mock.commands.items())
    return outcome.model_copy(update={"result": mock.result, "created": mock.created, "commands": commands})


def _read_command(key: str, command: Literal["success", "not_run"] | _CommandError) -> CommandReport:
    if isinstance(command, _CommandError):
        return CommandReport(key=key, method="", status="error", error=command.error)
    return CommandReport(key=key, method="", status=command)


def build_operation_mock(outcome: Outcome) -> Any:
    """`NOTHING` if they were only planned."""
    if outcome.already:
        return {"already": outcome.detail}
    mock: dict[str, object] = {} if outcome.result is None else {"result": outcome.result}
    if outcome.created:
        mock["created"] = outcome.created
    if any(command.status != "success" for command in outcome.commands):
        mock["commands"] = {one.key: {"error": one.error} if one.status == "error" else one.status for one in outcome.commands}
    return mock if _OWN & set(mock) else build_mock("effect", outcome.model_dump(mode="json"))
