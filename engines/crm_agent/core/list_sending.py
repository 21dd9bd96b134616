"""Step list.send: a list that the person saw goes to a colleague as it is. Code writes the message; its card shows all of it."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from engines.crm_agent.core.lists import is_listable
from engines.crm_agent.core.planned_steps import PlannedStep
from engines.crm_agent.core.turn_work import ReadList, TurnWork
from orchestrator.directory.answers import OutcomeView, Unresolved
from orchestrator.directory.list_message import MOST_ROWS, ListMessage
from orchestrator.domain.effect import Effect, Outcome
from orchestrator.domain.outputs import Notice
from orchestrator.domain.own_reads import SEND
from orchestrator.engines.base import TurnContext
from state.model.shown_lists import ShownList
from state.stored import JsonObject

MESSAGE: Final = "im.message.add"
_TO, _TEXT = "to", "text"
_FORM: Final = (
    f'{SEND} {{"to","text"}}: to is one "@user:…", text an optional sentence of the person; it sends the list that was shown last'
)
_NOT_YET: Final = f"the list is read in this same answer; propose {SEND} when you have seen it"
_NONE: Final = "no list of this person was shown that can be read again; read the list that is meant, then send it"


async def write_sent_list(ctx: TurnContext, work: TurnWork, planned: PlannedStep, plan: Sequence[PlannedStep]) -> PlannedStep:
    """The message that takes the step's place, or why there is none. It is written once: a restart sends no other rows."""
    step = planned.step
    to, text = step.params.get(_TO), step.params.get(_TEXT, "")
    if set(step.params) - {_TO, _TEXT} or not isinstance(text, str) or not (number := str(to)).isdecimal():
        return replace(planned, problem=Unresolved(notice=Notice(code="list-send-unclear"), detail=_FORM))
    if any(is_listable(other.step.method) for other in plan):
        return replace(planned, problem=Unresolved(notice=Notice(code="list-send-unclear"), detail=_NOT_YET))

    async def write() -> JsonObject:
        message = await _write_message(ctx, work, planned, int(number))
        return message.to_json() if message is not None else {}

    stored = await ctx.memo(planned.slot, write)
    if not stored:
        return replace(planned, problem=Unresolved(notice=Notice(code="list-send-none"), detail=_NONE))
    message = ListMessage.model_validate(stored)
    work.labels.extend(message.labels)
    if not message.text:
        notice = Notice(code="list-send-long", args={"rows": message.rows, "most": MOST_ROWS})
        return replace(
            planned, problem=Unresolved(notice=notice, detail=f"{message.rows} rows do not fit into one message; nothing is sent")
        )
    words = "\n".join(filter(None, (text.strip(), message.text)))
    call = replace(step, method=MESSAGE, params={"DIALOG_ID": number, "MESSAGE": words}, requires_confirmation=True)
    note = Notice(code="gate-list-passed", args={"rows": message.rows, "columns": ", ".join(message.columns) or "none"})
    return replace(planned, step=call, notes=(note,))


def stand_for_message(planned: PlannedStep) -> PlannedStep:
    """The step as the message that it will be, before its rows are read: it counts as one change, which asks."""
    step = planned.step
    if step.method != SEND:
        return planned
    return replace(planned, step=replace(step, method=MESSAGE, params={"DIALOG_ID": str(step.params.get(_TO)), "MESSAGE": SEND}))


async def _write_message(ctx: TurnContext, work: TurnWork, planned: PlannedStep, to: int) -> ListMessage | None:
    """None without a list, or if it cannot be read with the person's rights of now."""
    read = _find_read(work)
    fields: Sequence[str] = ()
    if read is None:
        earlier = ctx.state.last_shown
        if earlier is None or not earlier.method or earlier.by != ctx.actor.key:
            return None
        read, fields = await _read_again(ctx, planned, earlier), earlier.fields
    if read is None or not read.table.rows:
        return None
    message: ListMessage = await ctx.query("list_message", outcome=read.outcome, table=read.table, fields=fields, to=to, actor=ctx.actor)
    return message


def _find_read(work: TurnWork) -> ReadList | None:
    """The last list of an earlier answer of this turn."""
    places = [place for place, read in work.lists.items() if place[0] < work.iteration and read.source is not None]
    return work.lists[max(places)] if places else None


async def _read_again(ctx: TurnContext, planned: PlannedStep, shown: ShownList) -> ReadList | None:
    outcome = await ctx.submit(Effect(method=shown.method, params=shown.params, must_read=True, slot=f"{planned.slot}/rows"))
    if not isinstance(outcome, Outcome) or outcome.status != "succeeded":
        return None
    outcome = outcome.cut(shown.limit)
    seen: OutcomeView = await ctx.query("present", outcome=outcome, actor=ctx.actor)
    return ReadList(outcome=outcome, table=seen.table) if seen.table is not None else None
