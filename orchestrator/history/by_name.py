"""Which record «компания Вектор» behind /history is: looked up as names of requests are, among what the person may see. Ring 2."""

from typing import Final

from orchestrator.directory.answers import Ambiguous, Resolution, Resolved
from orchestrator.history.asking import split_kind
from orchestrator.messages import Action, Actor, Notice, Reply, build_reply
from orchestrator.session import Session
from orchestrator.turns import Tools

_KINDS: Final = ("deal", "company", "contact", "lead")
"""Where a name without a kind is looked for, in this order."""
_NAMED: Final = frozenset({*_KINDS, "task"})


async def find_record_by_name(said: str, actor: Actor, session: Session, tools: Tools, *, screen: str) -> str | Reply:
    """ "deal:481"; or what is asked or told instead: several fit, too many, none. Raises BitrixError."""
    kind, rest = split_kind(said)
    told = build_reply(Notice(code="history-which"))
    wanted = [(kind, rest)] if kind in _NAMED else []
    wanted += [(one, said) for one in _KINDS]  # «Лидер рынка» is no lead
    for one, words in wanted if any(sign.isalpha() for sign in said) else ():
        name = words.strip(" «»\"'“”")
        found: Resolution = await tools.queries["resolve"](
            reference=f"@{one}:{name}", method="", params={}, actor=actor, state=session.state, text=said
        )
        match found:
            case Resolved():
                return f"{one}:{found.value}"
            case Ambiguous():
                offered = [(f"{one}.{option.value}", option.label) for option in found.options]
                actions = (Action(words=("history", record, "0", screen), label=_build_label(label)) for record, label in offered)
                return Reply(notices=(found.ask,), actions=tuple(actions))
            case unresolved:
                told = build_reply(Notice(code=unresolved.notice.code, args={**unresolved.notice.args, "name": said}))
                if unresolved.notice.code != "not-found":
                    break
    return told


def _build_label(label: str) -> Notice:
    return Notice(code="button-history-record", args={"label": label})
