"""Decisions made over the API: stored as inputs for the gate. Sent again, one gets the first outcome; nothing is done twice."""

from dataclasses import dataclass, replace
from typing import Final, Literal

from bot.http_api.approvals.card_models import Confirmation, to_confirmation
from bot.http_api.server.endpoint_context import CARD, WITHIN, EndpointContext, build_translator
from bot.http_api.server.errors import ApiError
from bot.http_api.server.tokens import Client
from bot.i18n.translate import Translator
from orchestrator.domain.inputs import OVER_HTTP, CardDecision
from orchestrator.gate.call.serialization import build_effect_id
from orchestrator.gate.decide import refusals
from orchestrator.reports.cards import FoundCard, load_cards
from orchestrator.reports.viewer import find_nonce, find_tap
from state.canonical import to_storable_text
from state.clock import parse_iso
from state.journal.store import InboxRow

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
        submitted = await self._desk.submit(row, lambda event, _: event.type == "DecisionRefused" and event.data["turn_id"] == row.id)
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
            now = next((one for one in _list_cards(card) if _is_successor(one, card)), card)
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


def _list_cards(card: FoundCard) -> list[FoundCard]:
    return [replace(card, entry=entry) for entry in card.entries.values()]


def _is_successor(successor: FoundCard, card: FoundCard) -> bool:
    """Replaced because the record had changed in the meantime."""
    return bool(successor.entry.effect_id == build_effect_id(f"{card.entry.effect_id}/again")) and successor.entry.has("requested_at")


def _build_row(client: Client, confirmation_id: str, session: str, wish: DecisionRequest, nonce: str, desk: EndpointContext) -> InboxRow:
    reason = to_storable_text(wish.reason)
    decision = CardDecision(confirmation_id=confirmation_id, nonce=nonce, approve=wish.approve, via=wish.via, reason=reason)
    return desk.build_row(client, session, decision)
