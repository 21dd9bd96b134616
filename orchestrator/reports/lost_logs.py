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
class _Turn:
    """A turn of which not all that makes a record has been read: who asked, that a model answered, when it ended."""

    person: str = ""
    is_answered: bool = False
    ended_at: str = ""


@dataclass(kw_only=True)
class _Session:
    """What has been read of one stream: unfinished turns, for a run its owner and home, and (person, time) of what a log must tell.

    The person is "" for what a run does for its owner.
    """

    turns: dict[str, _Turn] = field(default_factory=dict)
    owner: str = ""
    home: str = ""
    told: list[tuple[str, str]] = field(default_factory=list)


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
    after = ""
    while page := store.scan_clear(_TYPES, after=after, limit=_PAGE):
        for event in page:
            _take_event(event, sessions.setdefault(event.stream.removeprefix("session:"), _Session()))
        after = page[-1].id
    found: dict[str, list[str]] = {}
    for name, session in sessions.items():
        for person, moment in session.told:
            who = person or session.owner
            if who and moment > erased.get(who, ""):
                found.setdefault(find_log_user(who, session.home or name), []).append(moment)
    return {user: sorted(moments) for user, moments in found.items()}


def _take_event(event: ClearEvent, session: _Session) -> None:
    """Add what the event says to `session`; events of the same millisecond come in any order."""
    match event.type:
        case "RunStarted":
            session.owner, session.home = event.actor, str(event.data.get("home", ""))
        case "ConfirmationApproved":
            session.told.append((str(event.data.get("approved_by") or event.actor), event.ts))
        case "ConfirmationDenied" if event.data.get("via") != "model":
            session.told.append((str(event.data.get("denied_by") or event.actor), event.ts))
        case "NodeDone" if event.data.get("kind") in {"model", "effect"}:
            session.told.append(("", event.ts))
        case "MessageReceived" | "ModelAnswered" | "TurnFinished":
            _take_turn_event(event, str(event.data.get("turn_id", "")), session)
        case _:
            pass


def _take_turn_event(event: ClearEvent, turn_id: str, session: _Session) -> None:
    turn = session.turns.setdefault(turn_id, _Turn())
    match event.type:
        case "MessageReceived":
            turn.person = event.actor
        case "ModelAnswered":
            turn.is_answered = True
        case _:
            turn.ended_at = event.ts
    if turn.person and turn.is_answered and turn.ended_at:
        session.told.append((turn.person, turn.ended_at))
        del session.turns[turn_id]


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
