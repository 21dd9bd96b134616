"""The two requests of a tool with a service of its own, logged in the seed's words (S001-58…74)."""

import logging
from dataclasses import dataclass
from typing import Any, Generic, Literal, TypeVar

from pydantic import BaseModel, ValidationError

from engines.tool_agent.core.toolbox import ToolPorts
from orchestrator.domain.errors import ServiceFailed
from state.canonical import to_storable
from state.stored import JsonObject

B = TypeVar("B", bound=BaseModel)


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceCall(Generic[B]):
    """A request to a service, and the form of a good answer."""

    service: str
    path: str
    answer: type[B]
    action: str
    refused: str


async def call_service(call: ServiceCall[B], body: JsonObject, ports: ToolPorts) -> B | Literal["down", "failed"]:
    """Return "down" for an unhealthy service, "failed" for a bad request or answer.

    The answer is remembered, so that a repeated turn asks no second time.
    """
    known = await ports.remember(call.service, lambda: _ask_service(call, body, ports))
    remembered_body = known.get("body")
    return (
        call.answer.model_validate(remembered_body) if remembered_body is not None else "down" if known.get("fault") == "down" else "failed"
    )


async def _ask_service(call: ServiceCall[B], body: JsonObject, ports: ToolPorts) -> dict[str, Any]:
    def note(text: str) -> None:
        ports.note(logging.ERROR, text)

    if not await _is_healthy(call, ports):
        note(f"{call.action} // Health check failed")
        return {"fault": "down"}
    try:
        reply = to_storable(await ports.services.post(call.service, call.path, body))
    except ServiceFailed as error:
        note(f"{call.action} // Unexpected error: {error.reason}")
        return {"fault": "failed"}
    if "error" in reply:
        note(f"{call.action} // {call.refused} error: {reply['error']}")
        return {"fault": "failed"}
    try:
        return {"body": call.answer.model_validate(reply).model_dump(mode="json")}
    except ValidationError as error:  # its own text quotes the answer
        wrong = ", ".join(f"{'.'.join(map(str, one['loc']))}: {one['msg']}" for one in error.errors(include_input=False))
        note(f"{call.action} // Unexpected error: the answer has another form ({wrong})")
        return {"fault": "failed"}


async def _is_healthy(call: ServiceCall[B], ports: ToolPorts) -> bool:
    try:
        health = await ports.services.check_health(call.service)
    except ServiceFailed as error:
        ports.note(logging.ERROR, f"check_health // Unexpected error: {error.reason}")
        return False
    return health.get("status") == "ok"
