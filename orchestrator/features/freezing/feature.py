"""/freeze, /unfreeze with its button, and news to administrators."""

from functools import partial
from typing import Final

from orchestrator.domain.actor import Actor, Staff
from orchestrator.domain.address import Address
from orchestrator.domain.inputs import Command, FeatureClick
from orchestrator.domain.outputs import Action, Notice, Reply, build_reply
from orchestrator.features.freezing import freeze_switch
from orchestrator.gate.call.ports import FreezeSwitch
from orchestrator.gate.decide.refusals import build_freeze_args
from orchestrator.sessions import outbox
from orchestrator.sessions.session import Session
from orchestrator.turns.feature import CommandSpec, Feature, Tools
from orchestrator.turns.turn import admit_actor, build_click_toasts
from state.canonical import to_storable_text
from state.journal.freeze_switch import LONGEST_REASON, FreezeState, SwitchOperator
from state.journal.store import InboxRow

PRESS: Final = "unfreeze"


async def freeze(row: InboxRow, session: Session, tools: Tools, *, switch: FreezeSwitch) -> None:
    actor = await _require_administrator(row, session, tools)
    if actor is None:
        return
    reason = to_storable_text(Command.model_validate(row.body).args).strip()[:LONGEST_REASON]
    turned = await switch.freeze(_build_hand(actor, session), reason)
    code = "frozen-done" if turned.changed else "frozen-already"
    await _answer(Notice(code=code, args=build_freeze_args(turned.state or FreezeState())), row, actor, session)


async def ask_unfreeze(row: InboxRow, session: Session, tools: Tools, *, switch: FreezeSwitch) -> None:
    actor = await _require_administrator(row, session, tools)
    if actor is None:
        return
    standing = await switch.find_freeze()
    if standing is None:
        await _answer(Notice(code="frozen-not"), row, actor, session)
        return
    button = Action(words=(PRESS, str(standing.seq)), label=Notice(code="button-unfreeze"))
    reply = Reply(notices=(Notice(code="unfreeze-ask", args=build_freeze_args(standing)),), actions=(button,))
    await session.commit(actor=actor.key, outbox=[outbox.build_reply_row(session.key, reply, session.now)], inbox_done=[row.id])


async def release(row: InboxRow, session: Session, tools: Tools, *, switch: FreezeSwitch) -> None:
    """Only the freeze of the button."""
    actor = await _require_administrator(row, session, tools)
    if actor is None:
        return
    words = FeatureClick.model_validate(row.body).words
    seq = int(words[1]) if len(words) > 1 and words[1].isdecimal() else -1
    turned = await switch.release(_build_hand(actor, session), seq)
    if turned.changed:
        await _answer(Notice(code="released-done"), row, actor, session)
    elif turned.state is None:
        await _answer(Notice(code="frozen-not"), row, actor, session)
    else:  # released and frozen again since the button was shown
        await _answer(Notice(code="frozen-again", args=build_freeze_args(turned.state or FreezeState())), row, actor, session)


async def _require_administrator(row: InboxRow, session: Session, tools: Tools) -> Actor | None:
    """None, after telling them, for everybody else."""
    actor = await admit_actor(row, session, tools)
    if actor is None or actor.role == "admin":
        return actor
    await _answer(Notice(code="freeze-admins-only"), row, actor, session)
    return None


async def _answer(notice: Notice, row: InboxRow, actor: Actor, session: Session) -> None:
    outbox_rows = [
        *build_click_toasts(row, session, Notice(code="toast-doing")),
        outbox.build_reply_row(session.key, build_reply(notice), session.now),
    ]
    await session.commit(actor=actor.key, outbox=outbox_rows, inbox_done=[row.id])


def _build_hand(actor: Actor, session: Session) -> SwitchOperator:
    return SwitchOperator(key=actor.key, name=actor.name, via=Address.parse(session.key).channel, at=session.now)


def build_feature(switch: FreezeSwitch, staff: Staff | None = None) -> Feature:
    """Without `staff` administrators are not told."""
    return Feature(
        inbox={freeze_switch.NEWS_KIND: partial(freeze_switch.tell_administrators, staff=staff)} if staff is not None else {},
        commands={"freeze": partial(freeze, switch=switch), "unfreeze": partial(ask_unfreeze, switch=switch)},
        command_specs={name: CommandSpec(menu=Notice(code=f"menu-{name}"), for_admins=True) for name in ("freeze", "unfreeze")},
        buttons={PRESS: partial(release, switch=switch)},
    )
