"""Finds the record that a text names: «481», «сделки 481», a URL, or a name among what the person may see."""

import re
from typing import Final

from bitrix.catalogue.catalogue import Catalogue
from orchestrator.directory.answers import Ambiguous, Resolution, Resolved
from orchestrator.domain.actor import Actor
from orchestrator.domain.outputs import Action, Notice, Reply, build_reply
from orchestrator.language.lexicon import load_lexicon
from orchestrator.reports.why.touched_records import parse_record
from orchestrator.sessions.session import Session
from orchestrator.turns.feature import Tools
from state.model.session_state import SessionState

_WORDS: Final = load_lexicon("requests").read_table("record_kinds")
_NUMBER: Final = re.compile(r"(?:№|#|n)?\s*([1-9][0-9]{0,8})", re.ASCII | re.IGNORECASE)
_NAMED: Final = re.compile(r"([^\W\d_]+)\s*(?:№|#|:)?\s*([1-9][0-9]{0,8})(?:[\s:]+(?:№|#)?([1-9][0-9]{0,8}))?", re.IGNORECASE)
_CARD: Final = re.compile(r"\S*/crm/(?:type/([0-9]{1,6})|(deal|lead|contact|company))/details/([1-9][0-9]{0,8})/?\S*", re.ASCII)
_TASK: Final = re.compile(r"\S*/tasks/task/view/([1-9][0-9]{0,8})/?\S*", re.ASCII)
_CURRENT: Final = (
    ("current_deal_id", "deal"),
    ("current_lead_id", "lead"),
    ("current_task_id", "task"),
    ("current_contact_id", "contact"),
    ("current_company_id", "company"),
)


def parse_record_reference(text: str, catalogue: Catalogue) -> str:
    """A number alone is a deal; "" without a number."""
    words = text.strip().rstrip(".?!")
    if bare := _NUMBER.fullmatch(words):
        return f"deal:{int(bare[1])}"
    if card := _CARD.fullmatch(words):
        return parse_record([*([f"item:{card[1]}"] if card[1] else [card[2]]), card[3]], catalogue)
    if task := _TASK.fullmatch(words):
        return f"task:{int(task[1])}"
    match = _NAMED.fullmatch(words)
    if match is None:
        return ""
    word = match[1].casefold()
    kind = next((code for start, code in _WORDS.items() if word.startswith(start)), word)
    return parse_record([kind, *(number for number in match.groups()[1:] if number)], catalogue)


def split_kind(text: str) -> tuple[str, str]:
    """As («компания Вектор») → ("company", "Вектор")."""
    word, _, rest = text.strip().partition(" ")
    folded = word.casefold()
    kind = next((code for start, code in _WORDS.items() if folded.startswith(start)), folded if folded in _WORDS.values() else "")
    return (kind, rest.strip()) if kind and rest.strip() else ("", text.strip())


def find_current_record(state: SessionState) -> str:
    """The one named last; "" if none."""
    objects = state.agent.objects
    here = {f"{kind}:{objects[key]}" for key, kind in _CURRENT if objects.get(key)}
    latest = next((target for target in reversed(state.trusted or ()) if target in here), "")
    return latest or next((f"{kind}:{objects[key]}" for key, kind in _CURRENT if objects.get(key)), "")


_KINDS: Final = ("deal", "company", "contact", "lead")
"""Kinds of records in the order of the search."""
_NAMED_KINDS: Final = frozenset({*_KINDS, "task"})


async def find_record_by_name(query: str, actor: Actor, session: Session, tools: Tools, *, screen: str) -> str | Reply:
    """A reply, with buttons, for several. Raises BitrixError."""
    kind, rest = split_kind(query)
    reply = build_reply(Notice(code="history-which"))
    guess: Reply | None = None  # another kind may have a record of exactly that name
    searches = [(kind, rest)] if kind in _NAMED_KINDS else []
    searches += [(record_kind, query) for record_kind in _KINDS]  # «Лидер рынка» begins like «лид» but is no lead
    for record_kind, words in searches if any(sign.isalpha() for sign in query) else ():
        name = words.strip(" «»\"'“”")
        resolution: Resolution = await tools.queries["resolve"](
            reference=f"@{record_kind}:{name}", method="", params={}, actor=actor, state=session.state, text=query
        )
        match resolution:
            case Resolved():
                return f"{record_kind}:{resolution.value}"
            case Ambiguous():
                offered = [(f"{record_kind}.{option.value}", option.label) for option in resolution.options]
                actions = (Action(words=("history", record, "0", screen), label=_build_label(label)) for record, label in offered)
                question = Reply(notices=(resolution.ask,), actions=tuple(actions))
                if not resolution.is_guess:
                    return question
                guess = guess or question
            case unresolved:
                reply = build_reply(Notice(code=unresolved.notice.code, args={**unresolved.notice.args, "name": query}))
                if unresolved.notice.code != "not-found":
                    break
    return guess or reply


def _build_label(label: str) -> Notice:
    return Notice(code="button-history-record", args={"label": label})
