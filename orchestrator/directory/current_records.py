"""Finds the record that a conversation is about at present, of each kind: what "@current" means.

It is the one that was read, made or changed last, alone. After a list of several, or after a turn that changed several, there is none:
nobody could say which of them the person means.
"""

from collections.abc import Collection, Mapping
from typing import Final

from state.model.session_state import SessionState
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
    numbers = {
        kind: number for kind in kinds if kind in CURRENT and (key := CURRENT[kind]) in objects and type(number := objects[key]) is int
    }
    turns = _list_changes(state) if numbers else []
    return {kind: number for kind, number in numbers.items() if not _is_one_of_several(number, CURRENT[kind], turns)}


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
    changed = [ids for changes in _list_changes(state)[-1:] for ids in changes]
    numbers: set[str] = set()
    for values in (*open_steps, *changed):
        _collect_numbers(values, numbers)
    return frozenset(numbers)


def _is_about_prose(reason: JsonObject) -> bool:
    """Return whether a card asks because free text of others was read; in a batch, the command's own reason stands inside."""
    args = reason.get("args")
    return _PROSE in {reason.get("code"), args.get("reason") if isinstance(args, Mapping) else None}


def _collect_numbers(value: object, found: set[str]) -> None:
    """Add to `found` the whole numbers at any depth of `value`, as text."""
    if type(value) is int or type(value) is str:
        if (text := str(value)).isdecimal():
            found.add(text)
    elif isinstance(value, list | tuple):
        for item in value:
            _collect_numbers(item, found)
    elif isinstance(value, Mapping):
        for item in value.values():
            _collect_numbers(item, found)


def _list_changes(state: SessionState) -> list[list[JsonObject]]:
    """Return the ids of the records that were made or changed since the last message, and since the one before it.

    The second list, which is missing if there was one message only, contains the first.
    """
    if not state.agent.done:
        return []
    asked = [line.ts for line in state.history if line.role == "user"][-2:]
    if not asked:
        return []
    oldest = min(asked)  # compared first: all that was ever done in the conversation is looked through several times a turn
    recent = [item for item in state.agent.done if str(item.get("timestamp", "")) >= oldest]
    dated = [(str(item["timestamp"]), item["object_ids"]) for item in recent if "object_ids" in item]
    return [[ids for at, ids in dated if at >= since] for since in reversed(asked)]


def _is_one_of_several(number: int, key: str, turns: list[list[JsonObject]]) -> bool:
    """Return whether a record is one of several of its kind that this turn has made or changed, or if it made none, the turn before it."""
    for changes in turns:
        if found := {ids[key] for ids in changes if key in ids and type(ids[key]) is int}:
            return number in found and len(found) > 1
    return False
