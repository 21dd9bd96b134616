"""`/confirmations` only submits decisions: the gate checks whether the caller may decide and whether the card is open."""

from collections.abc import Sequence
from typing import Annotated, Any, Final, Literal

from fastapi import APIRouter, Path, Query, Response
from fastapi.responses import JSONResponse
from pydantic import BaseModel, ConfigDict, Field

from bot.http_api.approvals.card_models import Confirmation, Filter, to_confirmation
from bot.http_api.approvals.decisions import SENTENCES, DecisionConflict, DecisionRequest, Status, build_not_found, decide
from bot.http_api.server.callers import ClientOf, Guarded, name_operation
from bot.http_api.server.endpoint_context import (
    LONGEST_SESSION,
    SESSION,
    CursorText,
    EndpointContext,
    build_translator,
    encode_cursor,
    parse_cursor,
)
from bot.http_api.server.errors import ErrorBody, describe_errors
from orchestrator.domain.inputs import LONGEST_REASON
from orchestrator.reports.cards import load_cards_page

_KIND: Final = "c"
_PARTS: Final = 3
_ID = Path(description="The number of a confirmation.", examples=["5f0c2a9b1e"])


class ConfirmationQuery(BaseModel):
    model_config = ConfigDict(extra="forbid")
    session: str | None = Field(
        None, pattern=f"^{SESSION.pattern}$", max_length=LONGEST_SESSION, description="Only of this session.", examples=["http:site:42"]
    )
    state: Filter = Field("requested", description="Only in this state; `requested` are those that wait.")
    cursor: CursorText | None = None
    limit: int = Field(20, ge=1, le=100)


class Confirmations(BaseModel):
    """One page of confirmations, sorted by session, and within a session from oldest to newest."""

    confirmations: Sequence[Confirmation]
    next: str | None = Field(description="Where the next page begins; null at the end. A page may be short and have a next one.")


class DecisionBody(BaseModel):
    """The body of a decision; its fingerprint proves which version of the confirmation the person saw."""

    model_config = ConfigDict(extra="forbid", strict=True)
    decision: Literal["approve", "deny"]
    fingerprint: str = Field(min_length=1, max_length=200, description="`fingerprint` of the confirmation as the caller saw it.")
    reason: str = Field("", max_length=LONGEST_REASON, description="Why not: the person who asked reads it.")


class Decision(BaseModel):
    """The outcome of a decision, with the confirmation as it is now."""

    status: Status = Field(examples=["executed"])
    message: str = Field(description="The same in words.", examples=[SENTENCES["executed"]])
    confirmation: Confirmation


class Conflict(ErrorBody):
    """The answer to a decision that was not accepted; `confirmation` is the confirmation as it is now."""

    confirmation: Confirmation


def build_confirmations_router(desk: EndpointContext) -> APIRouter:
    router = APIRouter(prefix="/confirmations", tags=["confirmations"], route_class=Guarded, generate_unique_id_function=name_operation)

    @router.get("", name="list", summary="What waits for a decision", responses=describe_errors(400, 401, 429, 500, 503))
    async def list_them(client: ClientOf, query: Annotated[ConfirmationQuery, Query()]) -> Confirmations:
        place = parse_cursor(query.cursor, _KIND, _PARTS)
        after = (place[0], place[1], place[2]) if place else None
        viewer, tr = desk.build_viewer(client), build_translator(client)
        session, state = query.session or "", query.state
        page = await load_cards_page(desk.store, viewer, session=session, state=state, after=after, limit=query.limit)
        now = desk.clock.now()
        confirmations = [to_confirmation(card, viewer, tr, now=now) for card in page.cards]
        return Confirmations(confirmations=confirmations, next=encode_cursor(_KIND, *page.after) if page.after else None)

    @router.get("/{confirmation_id}", summary="One confirmation", responses=describe_errors(401, 404, 429, 500, 503))
    async def show(client: ClientOf, confirmation_id: Annotated[str, _ID]) -> Confirmation:
        card = await desk.find_card(client, confirmation_id)
        if card is None:
            raise build_not_found()
        return to_confirmation(card, desk.build_viewer(client), build_translator(client), now=desk.clock.now())

    @router.post("/{confirmation_id}", name="decide", summary="Approve or deny", responses=_DECISION_RESPONSES)
    async def decided(client: ClientOf, confirmation_id: Annotated[str, _ID], body: DecisionBody, response: Response) -> Decision:
        wish = DecisionRequest(approve=body.decision == "approve", fingerprint=body.fingerprint, reason=body.reason)
        try:
            outcome = await decide(desk, client, confirmation_id, wish)
        except DecisionConflict as why:
            return _build_conflict(why)  # type: ignore[return-value]  # FastAPI sends a response as it is
        if outcome.trace:
            response.headers["X-Trace-Id"] = outcome.trace
        if outcome.status in {"accepted", "running"}:
            response.status_code = 202
        return Decision(status=outcome.status, message=SENTENCES[outcome.status], confirmation=outcome.card)

    return router


_DECISION_RESPONSES: Final[dict[int | str, dict[str, Any]]] = {
    202: {"model": Decision, "description": "Stored, and not through yet."},
    **describe_errors(400, 401, 403, 404, 408, 413, 415, 429, 500, 503),
    409: {
        "model": Conflict,
        "description": "Decided before, not what the caller saw, or changed meanwhile: the confirmation as it stands.",
    },
    410: {"model": Conflict, "description": "Its time is over."},
}


def _build_conflict(why: DecisionConflict) -> JSONResponse:
    body = {"error": {"code": why.code, "message": why.message}, "confirmation": why.card.model_dump(mode="json")}
    return JSONResponse(body, why.status, {"X-Trace-Id": why.trace} if why.trace else {})
