"""Performs effects of kind `order`: a standing order becomes an inbox row of the person's chat. Reads what the card says of it.

`source` is unique, so storing again changes nothing.
"""

from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from typing import Any, Final
from uuid import uuid5

from orchestrator.domain.actor import Actor
from orchestrator.domain.address import find_own_chat
from orchestrator.domain.inputs import Input
from orchestrator.domain.standing_orders import (
    MOST_ORDERS,
    OrderAdd,
    OrderChange,
    OrderDo,
    OrderTerms,
    RecordWatch,
    WatchFailed,
)
from orchestrator.gate.call import standing_orders as orders
from orchestrator.gate.call.before_image import PASSING
from orchestrator.gate.call.effect import BeforeImage, Call
from orchestrator.gate.call.ports import CallResult, Reconciled, Rejected, Succeeded, Unknown
from orchestrator.language.schedule_terms import TermsError, check_moment, parse_terms
from state.clock import UUID_NAMESPACE, Clock, format_iso, parse_iso
from state.journal.async_store import AsyncStore
from state.journal.order_index import load_orders
from state.journal.store import InboxRow, StoreError
from state.model.order_state import StandingOrder
from state.stored import JsonObject

ORDER: Final = "order"
"""The key of a before-image."""
_FAILURES: Final = {"unclear": "order-refused-unclear", "closed": "order-refused-closed", "later": "order-refused-later"}


class OrderPerformer:
    portal = ""
    is_application = True

    def __init__(self, store: AsyncStore, clock: Clock, watch: RecordWatch, present: Callable[[Actor], Actor | None]) -> None:
        self._store, self._clock, self._watch, self._present = store, clock, watch, present

    async def read_before(self, call: Call) -> BeforeImage | Rejected:
        """What it is about in words, and what it would have found last week. Rejected if it could not work; never raises."""
        try:
            if call.method == orders.ADD:
                return await self._describe_addition(call)
            return await self._describe_known(call)
        except WatchFailed as failure:
            return Rejected(code=_FAILURES[failure.code], detail=str(failure), sent=False, foreign_text=True)
        except StoreError as error:
            return Rejected(code="order-refused-unread", detail=f"the journal cannot be read: {error}", sent=False)

    async def execute(self, call: Call) -> CallResult:
        """Unknown if the database fails."""
        try:
            known = await self._store.read(load_orders, _find_home(call))
            if call.method == orders.LIST:
                return Succeeded(
                    result={"orders": [describe_entry(number, entry) for number, entry in enumerate(known.values(), 1)]}, total=len(known)
                )
            result = await self._build_input(call, known)
        except StoreError as error:
            return Rejected(code="order-refused-unread", detail=f"the journal cannot be read: {error}", sent=False)
        if isinstance(result, Rejected):
            return result
        row, note = result
        try:
            await self._store.put_inbox([row])
        except StoreError as error:
            return Unknown(detail=f"the store did not say whether the order is kept: {error}")
        return Succeeded(result=True, entity="order", note=note)

    async def reconcile(self, call: Call, _before: BeforeImage) -> Reconciled:
        """Never unclear. Raises StoreError."""
        is_stored = await self._store.find_inbox(_build_source(call)) is not None
        return Reconciled(verdict="done" if is_stored else "not_done", detail="the order is kept" if is_stored else "no such order is kept")

    async def _build_input(self, call: Call, known: Mapping[str, StandingOrder]) -> tuple[InboxRow, str] | Rejected:
        if call.method == orders.ADD:
            terms = orders.to_terms(call.params)
            refusal = self._check_time(terms) or _check_count(known)
            if refusal is not None:
                return refusal
            addition = OrderAdd(order=build_order_id(str(call.params[orders.MARK])), terms=terms, words=await self._name(call, terms))
            return self._build_row(call, addition), "kept; code tells the person, /orders lists it"
        found = _find_order(str(call.params[ORDER]), known)
        if isinstance(found, Rejected):
            return found
        order, entry = found
        if call.method == orders.REMOVE:
            return self._build_row(call, OrderDo(order=order, deed="remove")), "removed; code tells the person"
        if (status := call.params.get("status")) is not None:
            return self._build_row(call, OrderDo(order=order, deed=status)), f"{status}; code tells the person"
        changed = merge_terms(OrderTerms.model_validate(entry.terms), call.params)
        if isinstance(changed, Rejected):
            return changed
        if (refusal := self._check_time(changed)) is not None:
            return refusal
        return self._build_row(call, OrderChange(order=order, terms=changed, words=dict(entry.words))), "changed; code tells the person"

    def _check_time(self, terms: OrderTerms) -> Rejected | None:
        now = self._clock.now()
        if terms.until and parse_iso(terms.until) <= now:
            return Rejected(code="order-refused-past", detail="until: this moment is over", sent=False)
        if terms.until and terms.at and parse_iso(terms.until) < parse_iso(terms.at):
            return Rejected(code="order-refused-past", detail="until: the order would end before its moment", sent=False)
        if terms.kind != "time":
            return None
        try:
            parsed = parse_terms(terms.at or None, terms.cron or None, terms.zone)
            check_moment(parsed, now)
        except TermsError as error:
            return Rejected(code="order-refused-past", detail=str(error), sent=False)
        is_due = parsed.find_first(now) is not None
        return None if is_due else Rejected(code="order-refused-past", detail="cron: this line is never due any more", sent=False)

    async def _describe_addition(self, call: Call) -> BeforeImage | Rejected:
        terms = orders.to_terms(call.params)
        known = await self._store.read(load_orders, _find_home(call))
        refusal = self._check_time(terms) or _check_count(known)
        if refusal is not None:
            return refusal
        return {ORDER: await self._name(call, terms), PASSING: await self._review(call, terms)}

    async def _describe_known(self, call: Call) -> BeforeImage | Rejected:
        found = _find_order(str(call.params[ORDER]), await self._store.read(load_orders, _find_home(call)))
        if isinstance(found, Rejected):
            return found
        entry = found[1]
        changed = merge_terms(OrderTerms.model_validate(entry.terms), call.params) if call.method == orders.CHANGE else None
        if isinstance(changed, Rejected):
            return changed
        return {ORDER: {"terms": dict(entry.terms), **entry.words, "until": entry.until}}

    async def _name(self, call: Call, terms: OrderTerms) -> dict[str, str]:
        """Raises WatchFailed, also for a filter that means nothing."""
        actor = self._find_actor(call)
        words = {}
        if terms.question:
            words["records"] = await self._watch.name_records(terms, actor)
        if terms.report:
            words["report"] = await self._watch.name_report(terms.report, actor)
        if terms.propose:
            words["propose"] = str(terms.propose["method"])
        return words

    async def _review(self, call: Call, terms: OrderTerms) -> JsonObject:
        now = self._clock.now()
        if terms.kind == "time":
            return {"kind": "time", "count": _count_moments(terms, now)}
        week = await self._watch.review_week(terms, self._find_actor(call))
        since = "" if week.is_whole else format_iso(week.since)
        records = week.standing if terms.quiet else len(week.records)
        return {"kind": terms.kind, "count": week.count, "records": records, "since": since}

    def _find_actor(self, call: Call) -> Actor:
        person = str(call.params[orders.PERSON])
        sees = call.params[orders.SEES]
        stored = Actor(key=person, name=person, locale=call.params[orders.LOCALE])
        return self._present(stored) or stored.model_copy(update={"sees": "all" if sees == "all" else tuple(sees)})

    def _build_row(self, call: Call, body: Input) -> InboxRow:
        person = str(call.params[orders.PERSON])
        return body.to_row(_find_home(call), source=_build_source(call), actor={"key": person, "name": person}, now=self._clock.now())


def build_order_id(effect_id: str) -> str:
    return str(uuid5(UUID_NAMESPACE, f"order:{effect_id}"))


def merge_terms(terms: OrderTerms, params: JsonObject) -> OrderTerms | Rejected:
    """The order with some of its terms changed; its kind stays."""
    changes: dict[str, Any] = {name: params[name] for name in ("at", "cron", "quiet", "text", "to", "until") if name in params}
    if ("quiet" in changes) != (terms.kind == "quiet") and "quiet" in changes:
        return Rejected(code="order-refused-change", detail="quiet: this order waits for no silence; remove it and add another", sent=False)
    if {"at", "cron"} & changes.keys():
        if terms.kind != "time":
            return Rejected(code="order-refused-change", detail="at, cron: this order has no time; remove it and add another", sent=False)
        changes = {"at": "", "cron": "", **changes}
    if "text" in changes and (terms.report or terms.propose):
        return Rejected(code="order-refused-change", detail="text: this order sends no text; remove it and add another", sent=False)
    if changes.get("at"):
        changes["at"] = format_iso(parse_iso(str(changes["at"])))
    return OrderTerms.model_validate({**terms.to_json(), **changes})


def describe_entry(number: int, entry: StandingOrder) -> JsonObject:
    """For the model: what /orders shows, with the reference that changes name."""
    terms = OrderTerms.model_validate(entry.terms)
    named = {f"{name}_in_words": text for name, text in entry.words.items()}
    parts = {name: value for name, value in {**terms.to_json(), **named}.items() if value not in ("", {}, [], (), 0)}
    return {"order": f"@order:{number}", "status": entry.status, "until": entry.until, "fired": entry.fired, **parts}


def _find_order(name: str, known: Mapping[str, StandingOrder]) -> tuple[str, StandingOrder] | Rejected:
    if name in known:
        return name, known[name]
    return Rejected(code="order-refused-gone", detail="no order of this person has that id; write @order:1 as order.list says", sent=False)


def _check_count(known: Mapping[str, StandingOrder]) -> Rejected | None:
    if len(known) < MOST_ORDERS:
        return None
    return Rejected(code="order-refused-many", detail=f"{MOST_ORDERS} orders of this person stand already", sent=False)


def _count_moments(terms: OrderTerms, now: datetime) -> int:
    """How often it would have been due in the last seven days."""
    if not terms.cron:
        return 0
    parsed = parse_terms(None, terms.cron, terms.zone)
    return sum(moment <= now for moment in parsed.list_moments(now - timedelta(days=7), 7 * 288))


def _find_home(call: Call) -> str:
    return find_own_chat(str(call.params[orders.PERSON]))


def _build_source(call: Call) -> str:
    return f"order:{call.params[orders.MARK]}"
