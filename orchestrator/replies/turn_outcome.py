"""Completes the reply of a turn: why it was cut short, and which changes were made or not."""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from orchestrator.domain.effect import EffectOutcome, Outcome, Pending
from orchestrator.domain.outputs import Notice, Reply
from orchestrator.engines.base import REST_AFTER_CARD, REST_NOT_BEGUN, EndReason, PlanStep, TurnEnd
from orchestrator.gate.approve.duplicates import REPEATED
from orchestrator.gate.call import reminders
from orchestrator.gate.call.serialization import StoredOrder, build_doubt_args
from orchestrator.gate.preview.call_labels import ProposalLabel
from orchestrator.sessions.turn_context import Context
from state.events.conversation import StepRefused
from state.events.fold import list_open_confirmations
from state.journal.store import EffectRow
from state.model.session_state import SessionState
from state.stored import JsonObject

NOT_BEGUN = Notice(code="not-begun")
PLANNED = Notice(code="shadow-now")
UNKNOWN_REASON = Notice(code="no-reason-known")
WITHDRAWN = frozenset({"denied-by-model", "gate-withdrawn"})
"""A line of its own names what the model withdrew."""
_NUMBER = re.compile(r"№([0-9]+)", re.ASCII)
"""In place of a title that is not known."""
ALREADY_DONE = frozenset({"done-before", "done-already"})
_RESTS = frozenset({REST_NOT_BEGUN, REST_AFTER_CARD})
MAX_NAMED = 10
"""Further changes are only counted."""

Name = JsonObject
ChangeFate = tuple[Literal["made", "not_made", "unknown", "told"], Notice | None]
""""told": by the card or by recovery."""
REPORTED: ChangeFate = ("told", None)


@dataclass(kw_only=True)
class _Changes:
    made: list[Name] = field(default_factory=list)
    """Without those that `made_changes` tells."""
    has_lines: bool = False
    unknown: list[Notice] = field(default_factory=list)
    not_made: list[tuple[Name, Notice]] = field(default_factory=list)

    @property
    def made_notices(self) -> list[Notice]:
        """Empty if none was made."""
        if self.made:
            return [Notice(code="done-before", args={"calls": format_names(self.made)})]
        return [Notice(code="done-already")] if self.has_lines else []

    @property
    def not_made_notices(self) -> list[tuple[Notice, Notice]]:
        whys = _unique([why for _, why in self.not_made])
        calls_by_reason = [(why, format_names([name for name, its in self.not_made if its == why])) for why in whys]
        return [(why, Notice(code="not-made", args={"calls": calls, "why": why.model_dump(mode="json")})) for why, calls in calls_by_reason]


async def build_early_end(reason: EndReason, context: Context, notice: Notice, *, partly: Notice | None = None) -> TurnEnd:
    """Begins with `partly` if something was made. Raises StoreError."""
    changes = await _collect_changes(context)
    opening = partly if partly is not None and changes.made_notices else notice
    notices = [opening, *changes.made_notices, *changes.unknown, *(told for _, told in changes.not_made_notices)]
    new_cards = [item.confirmation_id for item in context.results if isinstance(item, Pending)]
    entries = context.state.cards.values()  # those too that a process before this one made
    waiting = [item.confirmation_id for item in entries if item.status == "requested" and item.turn_id == context.turn.turn_id]
    cards = tuple(dict.fromkeys([*new_cards, *waiting]))
    return TurnEnd(reason=reason, reply=Reply(notices=tuple(_unique(notices)), confirmations=cards, turn_id=context.turn.turn_id))


async def add_change_notices(end: TurnEnd, context: Context) -> TurnEnd:
    """Who reads only of a failure would request everything again. Raises StoreError."""
    reply = end.reply
    silent = not reply.parts or (end.reason == "waiting" and _has_failure(context))
    if not silent or reply.choices or not context.untold_steps:
        return end
    changes = await _collect_changes(context)
    sentences = [next((told for why, told in changes.not_made_notices if why == notice), notice) for notice in reply.notices]
    done = changes.made_notices if not reply.parts and (sentences or changes.made) else []
    notices = (*sentences[:1], *done, *sentences[1:])
    return replace(end, reply=reply.model_copy(update={"notices": notices}))


async def name_rest(end: TurnEnd, context: Context) -> TurnEnd:
    """In the sentence about a stopped plan."""
    if not any(notice.code in _RESTS for notice in end.reply.notices):
        return end
    left = [step.slot for step in end.next_planned_actions if step.slot in context.proposed_steps and step.slot not in context.outcomes]
    rest = [slot for slot in left if context.proposed_steps[slot].name_problem is None]
    names = [name for slot in rest if (name := await _describe_change(slot, None, context)) is not None]
    notices = [
        Notice(code=notice.code, args={**notice.args, "named": bool(names), "calls": format_names(names)})
        if notice.code in _RESTS
        else notice
        for notice in end.reply.notices
    ]
    return replace(end, reply=end.reply.model_copy(update={"notices": tuple(notices)}))


async def add_withdrawal_line(reply: Reply, context: Context) -> Reply:
    """One line in place of all that say so."""
    slots = [slot for slot, item in context.outcomes.items() if _is_withdrawn(item) and not context.is_told(slot)]
    notices = [notice for notice in reply.notices if notice.code not in WITHDRAWN]
    if not slots and len(notices) == len(reply.notices):
        return reply
    labels = [await context.describe_change(slot) for slot in slots]
    names = [await _name_withdrawn(label, context) for label in labels if label is not None]
    line = Notice(code="withdrawn", args={"calls": format_names(names), "named": bool(names)})
    return reply.model_copy(update={"notices": (line, *notices)})


def _is_withdrawn(result: object) -> bool:
    return isinstance(result, Outcome) and result.reason is not None and result.reason.code in WITHDRAWN


async def _name_withdrawn(label: ProposalLabel, context: Context) -> Name:
    """As on the card that the person has seen, if there was one."""
    cards = (card for card in context.state.cards.values() if label.essence and card.essence == label.essence and card.has("slot"))
    for card in cards:
        if (row := await context.find_effect(card.slot)) is not None and row.call.get("named"):
            return build_doubt_args(row.effect_id, row.call)
    return _name_record(label, context.state)


def _name_record(label: ProposalLabel, state: SessionState) -> Name:
    """With the title on a list that the person has seen."""
    number = _NUMBER.fullmatch(str(label.named.get("title") or ""))
    if number is None:
        return label.named
    record = f"{label.named.get('entity')}:{number[1]}"
    rows = (row for line in reversed(state.history) for shown in line.shown_lists for row in shown.rows if row.record == record)
    seen = (row.label.partition(" · ")[0] for row in rows)
    title = next((one for one in seen if one and not _NUMBER.fullmatch(one)), "")
    return {**label.named, "title": title} if title else label.named


def _has_failure(context: Context) -> bool:
    refused = any(isinstance(item, Outcome) and item.status == "refused" for item in context.results)
    return refused or any(step.problem for step in context.untold_steps.values())


async def _collect_changes(context: Context) -> _Changes:
    changes = _Changes()
    proposed = context.untold_steps
    last = {_build_request_key(step): _parse_plan(slot) for slot, step in proposed.items()}
    for slot, step in proposed.items():
        row = await context.find_effect(slot)
        standing, sentence = _find_row_fate(row, context.outcomes.get(slot)) if row is not None else _find_rowless_fate(slot, context)
        if row is not None and (is_made_without_card(row) or (standing == "made" and _is_reminder(row))):
            changes.has_lines = True  # of a reminder, or a message of its own
        elif standing == "unknown" and sentence is not None:
            changes.unknown.append(sentence)
        elif standing == "made" and (name := await _describe_change(slot, row, context)) is not None:
            changes.made.append(name)
        elif standing == "not_made" and last[_build_request_key(step)] == _parse_plan(
            slot
        ):  # a change proposed again later is reported by that later step
            name = await _describe_change(slot, row, context, unless_waiting=sentence == NOT_BEGUN)
            if name is not None:
                changes.not_made.append((name, sentence or UNKNOWN_REASON))
    return changes


def is_made_without_card(row: EffectRow) -> bool:
    if row.status != "succeeded":
        return False
    order = StoredOrder.from_data(row.call)
    return not order.is_erased and not order.confirmation_id and order.call.kind == "bitrix"


def _is_reminder(row: EffectRow) -> bool:
    order = StoredOrder.from_data(row.call)
    return not order.is_erased and order.call.method in {reminders.ADD, *reminders.CHANGES}


def is_batch_refused(row: EffectRow) -> bool:
    """The portal carried out none of its commands."""
    if row.status != "refused":
        return False
    order, outcome = StoredOrder.from_data(row.call), EffectOutcome.model_validate(row.outcome or {})
    return not order.is_erased and not order.confirmation_id and bool(outcome.commands)


def _find_row_fate(row: EffectRow, came: Outcome | Pending | None) -> ChangeFate:
    """`came` is the result in this turn."""
    if row.status == "succeeded":
        return "made", None
    if StoredOrder.from_data(row.call).confirmation_id:
        return REPORTED
    outcome = EffectOutcome.model_validate(row.outcome or {})
    heard = outcome.status == row.status
    reason = outcome.reason if heard else None
    if row.status in {"started", "unknown"}:
        return "unknown", reason or (came.reason if isinstance(came, Outcome) else None)
    return ("not_made", reason) if row.status == "refused" and heard else REPORTED


def _find_rowless_fate(slot: str, context: Context) -> ChangeFate:
    """No call was stored and no card made."""
    refused, problem = context.recorded.refused_steps.get(slot), context.proposed_steps[slot].name_problem
    match context.outcomes.get(slot):
        case Pending():
            return REPORTED
        case Outcome(status="succeeded", call_class=classes, repeat_of=earlier):
            return REPORTED if earlier or classes in {"", "R"} else ("made", None)
        case Outcome(status="planned"):
            return "not_made", PLANNED
        case Outcome(status="unknown", reason=reason):
            return "unknown", reason
        case Outcome(reason=reason):
            return ("not_made", reason) if reason is None or reason.code not in WITHDRAWN else REPORTED
    if refused is not None:
        step = StepRefused.from_data(refused)
        if step.code == REPEATED or step.code in WITHDRAWN:
            return REPORTED
        return "not_made", Notice(code=step.code, args=step.args)
    if problem is not None:
        return "not_made", problem.notice
    return "not_made", PLANNED if context.mode == "shadow" else NOT_BEGUN


async def _describe_change(slot: str, row: EffectRow | None, context: Context, *, unless_waiting: bool = False) -> Name | None:
    """None for a read; with `unless_waiting` also for an open card."""
    if row is not None:
        return build_doubt_args(row.effect_id, row.call)
    described = await context.describe_change(slot)
    waiting = list_open_confirmations(context.state) if unless_waiting else []
    if described is None or described.essence in {entry.essence for entry in waiting}:
        return None
    return described.named


def format_names(names: Sequence[Name]) -> list[dict[str, object]]:
    """In stored form; after `MAX_NAMED` only their number."""
    unique = [name for number, name in enumerate(names) if _strip_effect_id(name) not in map(_strip_effect_id, names[:number])]
    notices: list[dict[str, object]] = [{"code": "call-named", "args": dict(name)} for name in unique[:MAX_NAMED]]
    return [*notices, {"code": "and-more", "args": {"count": len(unique) - MAX_NAMED}}] if len(unique) > MAX_NAMED else notices


def _strip_effect_id(name: Name) -> dict[str, object]:
    return {key: value for key, value in name.items() if key != "effect_id"}


def _unique(notices: Sequence[Notice]) -> list[Notice]:
    return [notice for number, notice in enumerate(notices) if notice not in notices[:number]]


def _build_request_key(step: PlanStep) -> str:
    return json.dumps([step.method, step.params], sort_keys=True, default=str)


def _parse_plan(slot: str) -> str:
    return slot.rpartition("/")[0]
