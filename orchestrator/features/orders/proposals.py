"""Proposes what an order says, as a card for each record: nothing is written before a person has pressed.

Values taken from texts of records are marked as text of others, so that the card says so and no rule lets them pass.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Final
from zoneinfo import ZoneInfo

from orchestrator.directory.answers import DatedParams, Unresolved
from orchestrator.domain.actor import Actor
from orchestrator.domain.effect import Effect, Pending, Provenance
from orchestrator.domain.outputs import Notice, Reply
from orchestrator.domain.standing_orders import ChangedRecord, OrderTerms
from orchestrator.domain.taint import Value, split_values
from orchestrator.expressions.placeholders import SCENARIO, Template
from orchestrator.features.orders import words
from orchestrator.features.orders.record_lines import RecordLines, Records
from orchestrator.gate.call.modes import resolve_mode
from orchestrator.sessions import outbox
from orchestrator.sessions.session import Session
from orchestrator.turns.feature import Tools
from state.journal.store import OutboxRow
from state.model.order_state import StandingOrder

PLACEHOLDERS: Final = ("record", "title", "owner", "today", "tomorrow", "days")
MOST_CARDS: Final = 5
"""Of one firing; the other records are only named."""
PROPOSER: Final = "order"
"""What the journal names as the one who proposed."""


@dataclass(frozen=True)
class Proposer:
    lines: RecordLines

    async def propose(
        self,
        order: str,
        entry: StandingOrder,
        found: Sequence[ChangedRecord],
        records: Records,
        actor: Actor,
        *,
        session: Session,
        tools: Tools,
    ) -> list[OutboxRow]:
        """A heading, and the cards. The slot tells record and state, so that no crash proposes twice."""
        terms = OrderTerms.model_validate(entry.terms)
        notices = [words.build_event_notice("order-proposes", entry, actor, session.now)]
        cards = []
        for one in found[:MOST_CARDS]:
            names = self._build_names(one, records, terms, actor, session)
            effect = build_effect(order, terms, one, names)
            dated = await tools.queries["dates"](method=effect.method, params=effect.params, actor=actor, chosen={})
            if not isinstance(dated, DatedParams):
                title = self.lines.clean_title(one.target, records[one.target], actor)
                why = dated.notice if isinstance(dated, Unresolved) else dated.several.ask
                notices.append(Notice(code="order-not-proposed", args={"title": title, "why": why.model_dump()}))
                continue
            effect = effect.model_copy(update={"params": dict(dated.params)})
            result = await tools.gate.submit(
                effect, actor=actor, mode=resolve_mode(tools.mode, actor), turn_id=f"order:{order}", ledger=session
            )
            if isinstance(result, Pending) and result.confirmation_id in session.state.cards:
                cards.append(outbox.build_card_row(session.key, session.state.cards[result.confirmation_id], session.now))
            elif not isinstance(result, Pending):
                title = self.lines.clean_title(one.target, records[one.target], actor)
                notices.append(Notice(code="order-not-proposed", args={"title": title, "why": _tell_reason(result.reason)}))
        if left := len(found) - MOST_CARDS:
            notices += [Notice(code="schedules-more", args={"count": left})] if left > 0 else []
        return [outbox.build_reply_row(session.key, Reply(notices=tuple(notices)), session.now), *cards]

    def _build_names(self, one: ChangedRecord, records: Records, terms: OrderTerms, actor: Actor, session: Session) -> dict[str, Value]:
        record = records[one.target]
        today = session.now.astimezone(ZoneInfo(actor.time_zone)).date()
        plain = {
            "record": int(one.target.rpartition(":")[2]),
            "owner": self.lines.find_owner(one.target, record),
            "today": today.isoformat(),
            "tomorrow": (today + timedelta(days=1)).isoformat(),
            "days": terms.quiet,
        }
        title = Value(self.lines.clean_title(one.target, record, actor), frozenset({"prose"}))
        return {**{name: Value(value, frozenset({"definition"})) for name, value in plain.items()}, "title": title}


def build_effect(order: str, terms: OrderTerms, one: ChangedRecord, names: Mapping[str, Value]) -> Effect:
    """It always asks: the person ordered to be asked, not that it be done."""
    template = Template(dict(terms.propose.get("params") or {}), SCENARIO)
    foreign = any(names[place.name].is_foreign for place in template.placeholders if place.name in names)
    params, _ = split_values(template.fill(names).data)
    return Effect(
        method=str(terms.propose["method"]),
        params=params,
        proposed_by=PROPOSER,
        provenance=Provenance(message=None, prose=foreign, targets=frozenset() if foreign else frozenset({one.target})),
        requires_confirmation=True,
        slot=f"order:{order}:{one.target}:{one.state}",
    )


def _tell_reason(reason: Notice | None) -> dict[str, object]:
    return (reason or Notice(code="order-gone")).model_dump()
