"""`/freeze`, for administrators' tokens: the switch that stops all writes to the portal."""

from typing import Final

from fastapi import APIRouter
from pydantic import BaseModel, ConfigDict, Field

from bot.http_api.server.callers import ClientOf, Guarded, name_operation
from bot.http_api.server.errors import ApiError, describe_errors
from bot.http_api.server.tokens import Client
from orchestrator.domain.outputs import Notice
from orchestrator.gate.call.ports import FreezeSwitch
from orchestrator.gate.decide.refusals import build_freeze_args
from orchestrator.language.lexicon import load_lexicon
from state.canonical import to_storable_text
from state.clock import Clock
from state.journal.freeze_switch import LONGEST_REASON, FreezeState, SwitchOperator, SwitchResult

_EXAMPLES: Final = load_lexicon("api_examples")
_LOOKED: Final = (401, 403, 429, 500, 503)
_TURNED: Final = (400, 401, 403, 408, 413, 415, 429, 500, 503)


class FreezeBody(BaseModel):
    """The body of a request to stop all writing to the portal, or to allow it again, with the reason."""

    model_config = ConfigDict(extra="forbid", strict=True)
    frozen: bool = Field(description="true stops all writing at once, in every process; false lets it start again.")
    reason: str = Field("", max_length=LONGEST_REASON, description="Why: everybody who asks for a change reads it.")


class Freeze(BaseModel):
    """Whether all writing to the portal is stopped, by whom, since when and why."""

    frozen: bool
    at: str = Field("", description="Since when.", examples=["2026-11-22T11:05:00.000000Z"])
    by: str = Field("", description="The name of who froze it.", examples=[_EXAMPLES.read_text("admin")])
    reason: str = Field("", examples=[_EXAMPLES.read_text("freeze_reason")])
    changed: bool = Field(False, description="Whether this request changed anything.")


def build_freeze_router(switch: FreezeSwitch, clock: Clock) -> APIRouter:
    """`switch` must be the one that the gate checks before a write."""
    router = APIRouter(prefix="/freeze", tags=["operation"], route_class=Guarded, generate_unique_id_function=name_operation)

    @router.get("", name="show", summary="Whether writing is stopped", responses=describe_errors(*_LOOKED))
    async def look(client: ClientOf) -> Freeze:
        _check_admin(client)
        return _to_status(await switch.find_freeze())

    @router.post("", name="set", summary="Stop all writing, or let it start again", responses=describe_errors(*_TURNED))
    async def turn(client: ClientOf, body: FreezeBody) -> Freeze:
        turned = await turn_switch(client, body, switch, clock)
        return _to_status(turned.state, changed=turned.changed)

    return router


async def turn_switch(
    client: Client, body: FreezeBody, switch: FreezeSwitch, clock: Clock, *, via: str = "", seq: int | None = None
) -> SwitchResult:
    """`seq` ends only the freeze of this number. Raises ApiError 403 for non-administrators, and StoreError; then nothing has changed."""
    _check_admin(client)
    hand = SwitchOperator(key=client.actor.key, name=client.actor.name, via=via or client.via, at=clock.now())
    reason = to_storable_text(body.reason).strip()
    return await (switch.freeze(hand, reason) if body.frozen else switch.release(hand, seq))


def describe_freeze(code: str, standing: FreezeState) -> Notice:
    """Such as "frozen-now": who ordered it, when and why."""
    return Notice(code=code, args=build_freeze_args(standing))


def _check_admin(client: Client) -> None:
    if client.actor.role != "admin":
        raise ApiError(403, "forbidden", "Only the token of an administrator may stop and allow writing.")


def _to_status(standing: FreezeState | None, *, changed: bool = False) -> Freeze:
    if standing is None:
        return Freeze(frozen=False, changed=changed)
    return Freeze(frozen=True, at=standing.at, by=standing.name, reason=standing.reason, changed=changed)
