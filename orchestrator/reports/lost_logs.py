"""Compares the audit logs with the journal: finds logs that are gone with all their side files, and logs that were begun anew since.

The seals of a log lie beside it, so whoever removes all of its files leaves no sign in the folder. The journal tells what must stand there.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from itertools import islice
from pathlib import Path
from typing import Final

from state.audit_log.interaction_log import DamagedArchive, list_users, read_records
from state.audit_log.records import find_log_owner, find_log_user
from state.clock import format_iso, parse_iso
from state.findings import Finding, FindingKind
from state.journal.store import ClearEvent, Store

_TYPES: Final = ("RunStarted", "MessageReceived", "ModelAnswered", "TurnFinished", "ConfirmationApproved", "ConfirmationDenied", "NodeDone")
_PAGE: Final = 1000
_WRITTEN_WITHIN: Final = timedelta(minutes=1)
"""A record is written to the log just after its event; a slow disk may take longer."""
_LOST_BY_KILL: Final = 1
"""How many turns a log may lack at its beginning without a fault: a process that was killed had no time to write the first one."""
_MENDED: Final = "`sdelka logs rebuild` writes it anew"


@dataclass(kw_only=True)
class _Session:
    """What is needed of one stream to know whose log tells of it: the people whose turns are open, and for a run its owner and home."""

    people: dict[str, str] = field(default_factory=dict)
    answered: set[str] = field(default_factory=set)
    owner: str = ""
    home: str = ""


def find_lost_logs(store: Store, folder: Path, erased: Mapping[str, str]) -> Iterator[Finding]:
    """Yield a finding for each user of whom the journal tells something, and who has no audit log in `folder` or a younger one.

    `erased` gives the time of the last erasure of each erased person, whose log was deleted then. Raises the store's errors.
    """
    present = set(list_users(folder))
    for user, expected in sorted(_collect_expected(store, erased).items()):
        if user in present:
            yield from _check_begin(folder, user, expected)
        elif not _is_in_log_of_owner(folder, user, present):
            told = f"the journal tells of {len(expected)} turns and decisions of {user} since {expected[0]}"
            yield Finding(kind="missing", place=user, why=f"{told}, and LOG_DIR has no audit log of them: {_MENDED}")


def _collect_expected(store: Store, erased: Mapping[str, str]) -> dict[str, list[str]]:
    """Return, by user, the times of what the journal knows and the user's log must tell, in order."""
    sessions: dict[str, _Session] = {}
    found: dict[str, list[str]] = {}
    after = ""
    while page := store.scan_clear(_TYPES, after=after, limit=_PAGE):
        for event in page:
            name = event.stream.removeprefix("session:")
            session = sessions.setdefault(name, _Session())
            person = _find_person(event, session)
            if person and event.ts > erased.get(person, ""):
                user = find_log_user(person, session.home or name)
                found.setdefault(user, []).append(event.ts)
        after = page[-1].id
    return found


def _find_person(event: ClearEvent, session: _Session) -> str:
    """Return the person in whose log the event leads to a record; "" if it leads to none. Updates `session`."""
    turn_id = str(event.data.get("turn_id", ""))
    match event.type:
        case "RunStarted":
            session.owner, session.home = event.actor, str(event.data.get("home", ""))
        case "MessageReceived":
            session.people[turn_id] = event.actor
        case "ModelAnswered":
            session.answered.add(turn_id)
        case "TurnFinished" if turn_id in session.answered:
            session.answered.discard(turn_id)
            return session.people.pop(turn_id, "")
        case "ConfirmationApproved":
            return str(event.data.get("approved_by") or event.actor)
        case "ConfirmationDenied" if event.data.get("via") != "model":
            return str(event.data.get("denied_by") or event.actor)
        case "NodeDone" if event.data.get("kind") in {"model", "effect"}:
            return session.owner
        case _:
            pass
    return ""


def _is_in_log_of_owner(folder: Path, user: str, present: set[str]) -> bool:
    """Return whether the log of a token tells of one of its users, as it did before each of them had a log."""
    owner = find_log_owner(user)
    if owner == user or owner not in present:
        return False
    try:
        return any(record.get("session") == user for record in read_records(folder, owner))
    except (DamagedArchive, OSError):
        return True  # its damage is reported, and nobody can tell what stood there


def _check_begin(folder: Path, user: str, moments: list[str]) -> Iterator[Finding]:
    """Yield a finding if the log of `user` begins with its first record after things that it must tell: its older files were removed."""
    try:
        first = next(islice(read_records(folder, user), 1), None)
    except (DamagedArchive, OSError):
        return
    if first is None or (first.get("chain") or {}).get("n") != 1 or not isinstance(first.get("timestamp"), str):
        return  # older archives were removed by age, or the log is from before numbering began
    begin = format_iso(parse_iso(first["timestamp"]) - _WRITTEN_WITHIN)
    lost = [moment for moment in moments if moment < begin]
    if lost and not _is_in_log_of_owner(folder, user, set(list_users(folder))):
        why = f"the log begins at {first['timestamp']}, and the journal tells of {len(lost)} turns and decisions since {lost[0]}"
        kind: FindingKind = "missing" if len(lost) > _LOST_BY_KILL else "note"
        yield Finding(kind=kind, place=user, seq=1, why=f"{why}: older files of it were removed, or could not be written; {_MENDED}")
