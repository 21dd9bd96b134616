"""Finds the record that a conversation is about at present, of each kind: what "@current" means.

It is the one that was read, made or changed last, alone. After a list of several, or after a turn that changed several, there is none:
nobody could say which of them the person means.
"""

from collections.abc import Collection, Iterator, Mapping
from typing import Final

from state.session_state import SessionState
from state.stored import JsonObject

CURRENT: Final = {
    "deal": "current_deal_id",
    "lead": "current_lead_id",
    "contact": "current_contact_id",
    "company": "current_company_id",
    "task": "current_task_id",
}
"""The keys of the current records in the state, by kind of record."""
_PROSE: Final = "gate-taint-prose"
"""The code of the reason that free text of others was read in the turn."""


def find_current(state: SessionState, kind: str) -> int | None:
    """Return the number of the current record of a kind; None if there is none, or if the last turn changed several."""
    return list_current(state, (kind,)).get(kind)


def list_current(state: SessionState, kinds: Collection[str] = CURRENT) -> Mapping[str, int]:
    """Return the current records of these kinds as kind → number."""
    objects = state.agent.objects
    numbers = {kind: one for kind, key in CURRENT.items() if key in objects and kind in kinds and isinstance(one := objects[key], int)}
    if not numbers:
        return {}
    turns = _list_changes(state)
    return {kind: number for kind, number in numbers.items() if not _is_one_of_several(number, _find_changed(turns, CURRENT[kind]))}


def list_tie_candidates(state: SessionState) -> Mapping[str, int]:
    """Return the current records to which a task may be tied, without the customers of a current deal or lead.

    Reading a deal makes its contact and company current too, but then it is the deal that people speak of.
    """
    found = {kind: number for kind, number in list_current(state).items() if kind != "task"}
    links = state.agent.objects.get("links") or {}
    linked = {one for kind, number in found.items() for one in links.get(f"{kind}:{number}", ()) if not one.startswith(f"{kind}:")}
    return {kind: number for kind, number in found.items() if f"{kind}:{number}" not in linked}


def list_numbers_in_hand(state: SessionState) -> frozenset[str]:
    """Return the numbers in steps that wait for a person or did not run, and of the records that the last two turns changed.

    Steps that the model proposed after it had read free text of others do not count: that text may have brought them about.
    """
    agent = state.agent
    waiting = (item for item in agent.confirmations.values() if item.is_waiting)
    open_steps: list[object] = [item.params for item in waiting if not any(_is_about_prose(reason) for reason in item.reasons)]
    open_steps += [item.get("params") for item in agent.next_planned_actions if not item.get("prose")]
    asked = [line.ts for line in state.history if line.role == "user"][-2:]
    changed = [item.get("object_ids", {}) for item in agent.done if asked and str(item.get("timestamp", "")) >= asked[0]]
    return frozenset(number for values in (*open_steps, *changed) for number in _list_numbers(values))


def _is_about_prose(reason: JsonObject) -> bool:
    """Return whether a card asks because free text of others was read; in a batch, the command's own reason stands inside."""
    args = reason.get("args")
    return _PROSE in {reason.get("code"), args.get("reason") if isinstance(args, Mapping) else None}


def _list_numbers(value: object) -> Iterator[str]:
    """Yield the whole numbers at any depth of `value`, as text."""
    if isinstance(value, Mapping):
        for item in value.values():
            yield from _list_numbers(item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _list_numbers(item)
    elif isinstance(value, int | str) and not isinstance(value, bool) and str(value).isdecimal():
        yield str(value)


def _list_changes(state: SessionState) -> list[list[JsonObject]]:
    """Return the ids of the records that were made or changed since the last message, and since the one before it."""
    asked = [line.ts for line in state.history if line.role == "user"][-2:]
    first = min(asked, default="")
    dated = [(at, item.get("object_ids", {})) for item in state.agent.done if asked and (at := str(item.get("timestamp", ""))) >= first]
    return [[ids for at, ids in dated if at >= since] for since in reversed(asked)]


def _is_one_of_several(number: int, changed: frozenset[int]) -> bool:
    return number in changed and len(changed) > 1


def _find_changed(turns: list[list[JsonObject]], key: str) -> frozenset[int]:
    """Return the records of one kind that this turn has made or changed so far, else those of the turn before it."""
    for changes in turns:
        ids = (one.get(key) for one in changes)
        if found := frozenset(number for number in ids if isinstance(number, int)):
            return found
    return frozenset()
