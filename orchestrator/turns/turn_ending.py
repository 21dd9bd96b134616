"""Ends a turn: code completes the reply with what was changed, and one commit stores it all."""

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import replace
from typing import Final

from orchestrator.domain.actor import Actor
from orchestrator.domain.address import Address
from orchestrator.domain.outputs import Action, Notice, Reply, ReportPart, Table, Text
from orchestrator.engines.base import ListSource, TurnEnd, TurnInput
from orchestrator.gate.approve.card_groups import find_group, find_shown_card
from orchestrator.gate.undo import undo_policy
from orchestrator.replies.code_notes import (
    add_attachment_notice,
    add_forward_buttons,
    add_nothing_changed_notice,
    add_own_only_notice,
    add_reminder_lines,
    add_repeat_notice,
)
from orchestrator.replies.made_changes import add_failed_reads, add_made_lines
from orchestrator.replies.one_message import WAITING, drop_repetition
from orchestrator.replies.turn_outcome import add_withdrawal_line
from orchestrator.sessions import outbox
from orchestrator.sessions.session import Session
from orchestrator.sessions.turn_context import Context
from orchestrator.turns.feature import Tools
from state.canonical import dumps
from state.events.base import DEFAULT_ENGINE, Event
from state.events.conversation import TurnFinished
from state.journal.store import InboxRow, OutboxRow
from state.model.shown_lists import KEEP_IN_ANSWER, KEEP_ROWS, ShownList, ShownRow


def build_report_key(report_id: str) -> str:
    return f"report:{report_id}"


_MOST_PICTURES: Final = 3
"""Of one answer: more would fill the chat."""
LIST_BUTTON: Final = "list"
"""A press sends ("list", short id of the turn, place)."""
_MOST_FILES: Final = 4
_SHORT: Final = 12


def shorten_turn(turn_id: str) -> str:
    """A button has room for the end of an id."""
    return turn_id[-_SHORT:]


RULES: Final = 1
"""Of the rules of consent; older conversations are told of them once."""


async def end_turn(end: TurnEnd, context: Context, engine: str, row: InboxRow, session: Session, tools: Tools) -> None:
    """Raises StoreError."""
    turn, actor, mask = context.turn, context.actor, tools.guard.secrets.mask
    reply = await _complete_reply(end.reply, context, session, tools)
    if engine == DEFAULT_ENGINE:
        reply = _add_rules_notice(add_nothing_changed_notice(reply, context), session)
    await tools.show_partial(session.key, Notice(code="turn-over", args={"turn": turn.turn_id}))
    warned: list[Event] = []
    if (warning := await _issue_budget_warning(context, actor, session, tools)) is not None:
        reply = reply.model_copy(update={"notices": (*reply.notices, warning[0])})
        warned.append(warning[1])
    end = replace(end, reply=tools.guard.clean_reply(reply, turn.text, locale=actor.locale), history=mask(end.history))
    lists = collect_shown_lists(end, session=session.key, mask=mask)
    if Address.parse(session.key).is_messenger:
        end = replace(end, reply=_add_file_buttons(end.reply, lists, turn.turn_id))
    await _finish(end, _build_end_event(end, lists, context, engine), turn, session, row, events=warned)
    await _record_audit(context, actor, session, tools)


def _add_rules_notice(reply: Reply, session: Session) -> Reply:
    state = session.state
    now = state.turn.turn_id if state.turn is not None else ""
    if (state.rules or 0) >= RULES or not reply.parts or all(line.turn_id == now for line in state.history):
        return reply
    return reply.model_copy(update={"notices": (*reply.notices, Notice(code="rules-changed"))})


async def _complete_reply(reply: Reply, context: Context, session: Session, tools: Tools) -> Reply:
    turn, deps = context.turn, tools.gate.deps
    reply = reply if turn.is_resumed else add_forward_buttons(reply, turn)
    reply = await add_made_lines(add_own_only_notice(reply, context, deps.catalogue), context, deps)
    reply = add_reminder_lines(add_failed_reads(reply, context, deps), context, session.key)
    reply = drop_repetition(add_repeat_notice(reply, context), context, session=session.key)
    reply = await add_withdrawal_line(add_attachment_notice(reply, turn), context)
    undo = await undo_policy.find_undoable(context.results, session, policy=deps.policy, catalogue=deps.catalogue)
    return reply.model_copy(update={"notices": _count_cards(reply, session), "undo": undo})


async def _issue_budget_warning(context: Context, actor: Actor, session: Session, tools: Tools) -> tuple[Notice, Event] | None:
    """Buffered answers of this turn count."""
    if not context.iterations or await tools.model_budget.describe_usage(actor, session.now) is None:
        return None
    await session.flush()
    return await tools.model_budget.issue_warning(actor, session.now)


def _build_end_event(end: TurnEnd, lists: Sequence[ShownList], context: Context, engine: str) -> TurnFinished:
    provenance = end.provenance.model_dump(mode="json") if end.provenance is not None else {}
    asker = context.actor.model_dump(mode="json")
    pause = {"asker": asker, "joined_slots": context.list_joined_steps(), "provenance": provenance} if end.goes_on else {}
    return TurnFinished(
        turn_id=context.turn.turn_id,
        reason=end.reason,
        text=end.reply.text,
        history=end.history,
        is_foreign=end.is_foreign,
        acted=end.acted,
        next_planned_actions=[item.to_stored() for item in end.next_planned_actions],
        targets=sorted(end.targets)[:50],
        goes_on=end.goes_on,
        lists=[one.to_stored() for one in lists],
        engine=engine if engine != DEFAULT_ENGINE else "",
        resumed=context.turn.is_resumed,
        rules=RULES,
        **pause,
    )


async def _finish(
    end: TurnEnd, event: TurnFinished, turn: TurnInput, session: Session, row: InboxRow, *, events: Sequence[Event] = ()
) -> None:
    """All in one commit."""
    # A turn that goes on has answered already, and may have nothing to add to what its cards say.
    told_now = not turn.is_resumed or not end.reply.is_empty
    place = row.id if turn.is_resumed else turn.turn_id
    rows: list[OutboxRow] = _build_reply_rows(end.reply, session, key=f"turn:{place}") if told_now else []
    entries = session.state.cards
    card_ids = dict.fromkeys([*_list_withdrawn_cards(session), *end.reply.confirmations])
    rows.extend(_build_card_row(item, card_ids, turn, session) for item in card_ids if item in entries)
    await session.commit(*events, event, actor=row.actor_key, outbox=rows, inbox_done=[row.id])


def _build_reply_rows(reply: Reply, session: Session, *, key: str) -> list[OutboxRow]:
    """In a messenger a report is a message of its own, which its buttons change; the model's words stand with the first."""
    reports = [part for part in reply.parts if isinstance(part, ReportPart)]
    if not reports or not Address.parse(session.key).is_messenger:
        return [outbox.build_reply_row(session.key, _show_without_files(reply), session.now, key=key)]
    others = tuple(part for part in reply.parts if not isinstance(part, ReportPart))
    rest = reply.model_copy(update={"parts": others})
    only_words = all(isinstance(part, Text) for part in others) and rest.model_copy(update={"parts": ()}).is_empty
    words = others if only_words and not reports[0].is_file else ()
    first = rest.model_copy(update={"parts": ()}) if words else rest
    drawn = [report if number < _MOST_PICTURES else report.model_copy(update={"is_text": True}) for number, report in enumerate(reports)]
    shown = [(*(words if number == 0 else ()), report) for number, report in enumerate(drawn)]
    alone = [Reply(parts=parts, links=reply.links, turn_id=reply.turn_id) for parts in shown]
    rows = [outbox.build_reply_row(session.key, first, session.now, key=key)]
    return rows + [
        outbox.build_reply_row(session.key, one, session.now, key=build_report_key(report.report_id))
        for one, report in zip(alone, reports, strict=True)
    ]


def _show_without_files(reply: Reply) -> Reply:
    """For doors that send no file with an answer: the numbers themselves."""
    parts = tuple(part.model_copy(update={"is_file": False}) if isinstance(part, ReportPart) else part for part in reply.parts)
    return reply.model_copy(update={"parts": parts})


def _build_card_row(confirmation_id: str, card_ids: Collection[str], turn: TurnInput, session: Session) -> OutboxRow:
    """Shown anew if the turn added a step to a plan further up, or nobody would notice."""
    entry = session.state.cards[confirmation_id]
    group = find_group(entry, session.state.cards) if turn.is_resumed and entry.is_waiting else None
    if group is None or all(member.confirmation_id in card_ids for member in group.members):
        return outbox.build_card_row(session.key, entry, session.now)
    row = outbox.build_card_row(session.key, entry, session.now, anew=True)
    return replace(row, body={**row.body, "told": list(entry.told)})


def _count_cards(reply: Reply, session: Session) -> tuple[Notice, ...]:
    """The notice about cards counts messages: a plan may have one."""
    if WAITING not in [notice.code for notice in reply.notices]:
        return reply.notices
    cards = (find_shown_card(item, session.state, session.key) for item in reply.confirmations)
    count = len({card.confirmation_id for card in cards if card is not None and card.is_waiting})
    counted = {"count": max(1, count)}
    notices = [one.model_copy(update={"args": {**one.args, **counted}}) if one.code == WAITING else one for one in reply.notices]
    return tuple(notices)


def _list_withdrawn_cards(session: Session) -> list[str]:
    """To be shown again without buttons."""
    begun = session.state.turn.started if session.state.turn else ""
    entries = session.state.cards.values()
    denied = (entry for entry in entries if entry.status == "denied" and entry.via == "model" and entry.has("nonce"))
    return [entry.confirmation_id for entry in denied if entry.denied_at >= begun]


async def _record_audit(context: Context, actor: Actor, session: Session, tools: Tools) -> None:
    for entry in context.untold_iterations:
        await tools.audit.record_iteration(
            entry,
            actor=actor,
            session=session.key,
            turn_id=context.turn.turn_id,
            text=context.turn.text,
            mode=context.mode,
            state=session.state.agent,
        )


def collect_shown_lists(end: TurnEnd, *, session: str, mask: Callable[[str], str]) -> list[ShownList]:
    """In order, then those for the history. `mask` hides secrets."""
    has_file = Address.parse(session).is_messenger
    tables = {part.place: part for part in end.reply.parts if isinstance(part, Table) and part.place}  # one shown twice is one list
    lists = [*(read_shown_table(table, _find_source(end, table, mask), has_file=has_file) for table in tables.values()), *end.lists]
    return list(_limit_rows([replace(one, rows=tuple(ShownRow(row.record, mask(row.label)) for row in one.rows)) for one in lists]))


def _add_file_buttons(reply: Reply, lists: Sequence[ShownList], turn_id: str) -> Reply:
    """«Excel» for each list that can be read again."""
    places = [one.place for one in lists if one.method and one.rows]
    labels = [Notice(code="button-list-file", args={"number": number, "of": len(places)}) for number in range(1, len(places) + 1)]
    pairs = list(zip(places, labels, strict=True))[:_MOST_FILES]
    buttons = [Action(words=(LIST_BUTTON, shorten_turn(turn_id), place), label=label) for place, label in pairs]
    return reply.model_copy(update={"actions": (*reply.actions, *buttons)})


def _find_source(end: TurnEnd, table: Table, mask: Callable[[str], str]) -> ListSource | None:
    """None if it holds a secret."""
    source = end.sources.get(table.place)
    return source if source is not None and mask(params := dumps(source.params)) == params else None


def read_shown_table(table: Table, source: ListSource | None, *, has_file: bool) -> ShownList:
    seen = table.rows[: min(table.count_seen(has_file=has_file), KEEP_ROWS)]
    rows = tuple(ShownRow(row.target, "" if table.is_prose else row.label) for row in seen)
    total = max(table.total, table.first - 1 + len(table.rows))
    shown_list = ShownList(place=table.place, total=total, rows=rows, first=table.first, fields=table.fields)
    if source is None:
        return shown_list
    return replace(shown_list, method=source.method, params=source.params, by=source.by, limit=source.limit)


def _limit_rows(lists: list[ShownList]) -> Iterator[ShownList]:
    """At most `KEEP_IN_ANSWER` rows in all."""
    left = KEEP_IN_ANSWER
    for shown_list in lists:
        yield replace(shown_list, rows=shown_list.rows[:left])
        left -= len(shown_list.rows[:left])
