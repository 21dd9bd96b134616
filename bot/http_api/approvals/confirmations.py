"""`/confirmations` only submits decisions: the gate checks whether the caller may decide and whether the card is open.

A decision is stored as an input. Sent again, it gets the first outcome; nothing is done twice.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, Final, Literal

from fastapi import APIRouter, Path, Query, Response
from fastapi.responses import JSONResponse
from pydantic import BaseModel, ConfigDict, Field

from bot.http_api.approvals.card_models import Confirmation, Filter, to_confirmation
from bot.http_api.server.callers import ClientOf, Guarded, name_operation
from bot.http_api.server.endpoint_context import (
    CARD,
    LONGEST_SESSION,
    SESSION,
    WITHIN,
    CursorText,
    EndpointContext,
    build_translator,
    encode_cursor,
    parse_cursor,
)
from bot.http_api.server.errors import ApiError, ErrorBody, describe_errors
from bot.http_api.server.tokens import Client
from bot.i18n.translate import Translator
from orchestrator.domain.inputs import LONGEST_REASON, OVER_HTTP, CardDecision
from orchestrator.gate.call.serialization import build_effect_id
from orchestrator.gate.decide import refusals
from orchestrator.reports.cards import FoundCard, load_cards, load_cards_page
from orchestrator.reports.viewer import find_nonce, find_tap
from state.canonical import to_storable_text
from state.clock import parse_iso
from state.journal.store import InboxRow, StoredEvent

Status = Literal["executed", "partly", "denied", "refused", "unknown", "running", "accepted", "second_confirmation_required"]
SENTENCES: Final[dict[str, str]] = {
    "executed": "The call was made, and Bitrix24 said yes.",
    "partly": "The batch was made, and some of its commands failed: see `commands`.",
    "denied": "The request is denied; nothing was sent.",
    "refused": "The decision counts, but the call was not carried out: nothing was changed.",
    "unknown": "The call was sent and its answer was lost: it may have happened. Check in Bitrix24; it is not sent again.",
    "running": "The decision counts and the call is under way: ask for this confirmation again.",
    "accepted": "The decision is stored and will be worked soon: ask for this confirmation again.",
    "second_confirmation_required": "This cannot be undone: send the decision once more with the new `fingerprint`.",
}
_FORBIDDEN: Final = frozenset({"may-not-approve", "four-eyes", "lead-only", "lead-nobody", "not-your-card", "no-access-any-more"})
_OUTDATED: Final = "card-outdated"


@dataclass(frozen=True, kw_only=True)
class DecisionRequest:
    """`fingerprint` identifies the version of the card that the caller saw."""

    approve: bool
    fingerprint: str
    reason: str
    via: str = OVER_HTTP
    """As the journal and the log say it."""


@dataclass(frozen=True, kw_only=True)
class DecisionResult:
    """The trace id is stored with all that the decision causes; "" if nothing was submitted."""

    status: Status
    card: Confirmation
    trace: str = ""


class DecisionConflict(Exception):
    """HTTP 409, or 410 for an expired card; carries the card as it is now."""

    def __init__(self, status: int, code: str, message: str, *, card: Confirmation, trace: str = "") -> None:
        super().__init__(code)
        self.status, self.code, self.message, self.card, self.trace = status, code, message, card, trace


def build_not_found() -> ApiError:
    """The same for a card that does not exist and for one that the caller may not see."""
    return ApiError(404, "confirmation_not_found", "There is no such confirmation.")


async def decide(desk: EndpointContext, client: Client, confirmation_id: str, wish: DecisionRequest) -> DecisionResult:
    """Waits for the outcome. Raises ApiError, DecisionConflict and StoreError (S004-58)."""
    card = await desk.find_card(client, confirmation_id)
    if card is None and CARD.fullmatch(confirmation_id):
        await desk.orchestrator.receive([_build_row(client, confirmation_id, client.actor.key, wish, "", desk)])
    if card is None:
        raise build_not_found()
    asking = _DecisionFlow(desk, client, card, wish)
    if card.entry.status != "requested" or parse_iso(card.entry.expires_at) <= desk.clock.now():
        return asking.build_result(await asking.wait_until_settled(card), "")
    if wish.approve and card.entry.taps > 1 and find_tap(card.entry, wish.fingerprint) == 1 and asking.may_approve:
        return DecisionResult(status="second_confirmation_required", card=asking.to_confirmation(card, tap=2))
    nonce = find_nonce(card.entry, wish.fingerprint, approve=wish.approve)
    row = _build_row(client, confirmation_id, card.session, wish, nonce, desk)
    return await asking.submit(row)


class _DecisionFlow:
    def __init__(self, desk: EndpointContext, client: Client, card: FoundCard, wish: DecisionRequest) -> None:
        self._desk, self._client, self._card, self._wish = desk, client, card, wish
        self._tr = build_translator(client)

    @property
    def may_approve(self) -> bool:
        return self._desk.build_viewer(self._client).find_objection(self._card.entry, approve=True) is None

    def to_confirmation(self, card: FoundCard, *, tap: int = 1) -> Confirmation:
        return to_confirmation(card, self._desk.build_viewer(self._client), self._tr, tap=tap, now=self._desk.clock.now())

    async def submit(self, row: InboxRow) -> DecisionResult:
        """ "accepted" after `WITHIN` seconds. Raises ApiError or DecisionConflict for a refused decision."""

        def is_refusal(event: StoredEvent, _: InboxRow) -> bool:
            return event.type == "DecisionRefused" and event.data["turn_id"] == row.id

        submitted = await self._desk.submit(row, is_refusal, within=WITHIN)
        card = await self._reload_card() or self._card
        if card.entry.status == "requested" and submitted.event is not None:
            raise self._build_refusal(card, str(submitted.event.data["code"]), row.id)
        if card.entry.status == "requested" and submitted.status == "refused":
            raise ApiError(503, "unavailable", "The decision could not be worked; nothing was sent.", headers={"X-Trace-Id": row.id})
        if card.entry.status == "requested":
            return DecisionResult(status="accepted", card=self.to_confirmation(card), trace=row.id)
        return self.build_result(await self.wait_until_settled(card), row.id)

    async def wait_until_settled(self, card: FoundCard) -> FoundCard:
        """Until its call is no longer running, or `WITHIN` seconds: a decision sent again waits for what the first one started."""

        async def through() -> FoundCard | None:
            now = await self._reload_card() or card
            return now if now.entry.status != "approved" else None

        if card.entry.status != "approved":
            return card
        return await self._desk.wait_until(through, WITHIN) or card

    def build_result(self, card: FoundCard, trace: str) -> DecisionResult:
        """Raises DecisionConflict if others decided, the card expired, or a new one replaced it."""
        entry, status = card.entry, str(card.entry.status)
        by = entry.approved_by if self._wish.approve else entry.denied_by
        if by != self._client.actor.key or not find_tap(entry, self._wish.fingerprint):
            raise self._build_conflict(card, trace)
        if status == "superseded":
            now = next((one for entry in card.entries.values() if _is_successor(one := replace(card, entry=entry), card)), card)
            message = "What it would change has changed meanwhile, so nothing was sent: decide on the confirmation as it is now."
            raise DecisionConflict(409, "confirmation_changed", message, card=self.to_confirmation(now), trace=trace)
        failed = status == "executed" and any(report["status"] != "success" for report in entry.commands or ())
        words: dict[str, Status] = {"approved": "running", "executed": "partly" if failed else "executed", "denied": "denied"}
        words |= {"refused": "refused", "unknown": "unknown"}
        return DecisionResult(status=words[status], card=self.to_confirmation(card), trace=trace)

    def _build_conflict(self, card: FoundCard, trace: str) -> DecisionConflict:
        status = str(card.entry.status)
        if status in {"requested", "expired"}:
            return DecisionConflict(
                410, "confirmation_expired", "The time of this confirmation is over.", card=self.to_confirmation(card), trace=trace
            )
        message = f"This confirmation was decided before: it is {status} now."
        return DecisionConflict(409, f"confirmation_{status}", message, card=self.to_confirmation(card), trace=trace)

    def _build_refusal(self, card: FoundCard, code: str, trace: str) -> Exception:
        if code in _FORBIDDEN:
            why = self._desk.build_viewer(self._client).find_objection(card.entry, approve=self._wish.approve)
            sentence = Translator("en").translate_notice(why) if why is not None else "This token may not decide."
            return ApiError(403, code.replace("-", "_"), sentence, headers={"X-Trace-Id": trace})
        if code == "card-expired":
            return self._build_conflict(card, trace)
        if code == _OUTDATED:
            message = "The fingerprint is not that of this confirmation as it stands: look at it again."
            return DecisionConflict(409, "fingerprint_mismatch", message, card=self.to_confirmation(card), trace=trace)
        if code == refusals.FROZEN_CARD:
            message = "Writing is stopped for everybody: nothing was sent, and the confirmation waits."
            return DecisionConflict(409, "frozen", message, card=self.to_confirmation(card), trace=trace)
        message = f"The decision did not count ({code}); nothing was sent."
        return DecisionConflict(409, code.replace("-", "_"), message, card=self.to_confirmation(card), trace=trace)

    async def _reload_card(self) -> FoundCard | None:
        cards = await load_cards(self._desk.store, self._card.session)
        return next((card for card in cards if card.entry.confirmation_id == self._card.entry.confirmation_id), None)


def _is_successor(successor: FoundCard, card: FoundCard) -> bool:
    """Replaced because the record had changed in the meantime."""
    return bool(successor.entry.effect_id == build_effect_id(f"{card.entry.effect_id}/again")) and successor.entry.has("requested_at")


def _build_row(client: Client, confirmation_id: str, session: str, wish: DecisionRequest, nonce: str, desk: EndpointContext) -> InboxRow:
    reason = to_storable_text(wish.reason)
    decision = CardDecision(confirmation_id=confirmation_id, nonce=nonce, approve=wish.approve, via=wish.via, reason=reason)
    return desk.build_row(client, session, decision)


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
        return to_confirmation(await desk.add_records(card), desk.build_viewer(client), build_translator(client), now=desk.clock.now())

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
