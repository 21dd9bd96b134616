"""Writes the audit logs anew from the journal, marked as rebuilt.

Lost are clicks without effect, the note of an unfinished call, and the mode of a turn without a plan.
"""

from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import orjson

from bitrix.masking import mask_value
from orchestrator.gate.execute.recovery import DETAIL
from orchestrator.reports.log_rebuild.node_records import RunTrail, build_node_records
from orchestrator.reports.log_rebuild.records import Record, Turn, build_decision_record, build_iteration_records, build_trouble_record
from orchestrator.reports.reading.journal_reader import parse_event, read_stream, to_session_name
from orchestrator.sessions.audit import SCHEMA, trim_state
from state.audit_log.interaction_log import LIMIT, DamagedArchive, InteractionLogger, list_users, read_lines, rewrite_log
from state.audit_log.log_files import FOLDER_MODE, open_private
from state.audit_log.records import build_log_path, encode_record, find_log_owner, find_log_user, parse_record
from state.clock import SystemClock, parse_iso
from state.events import fold
from state.events.base import Event
from state.events.calls import CallOutcomeUnknown, CallRefused, CallSucceeded, OutcomeReconciled
from state.events.confirmations import ConfirmationApproved, ConfirmationDenied, ConfirmationSuperseded
from state.events.conversation import MessageReceived, TurnFinished, TurnResumed
from state.events.freezing import ConfirmationReopened
from state.events.runs import RunWoken
from state.journal.store import Store, StoredEvent
from state.model.session_state import SessionState
from state.stored import JsonObject

Identity = tuple[str, ...]
Index = dict[Identity, deque[tuple[int, JsonObject]]]
_PERSON_FIELDS = ("requested_by", "approved_by", "denied_by")
_WITHDRAWN_VIA = frozenset({"model", "run"})
"""Denials without a person: by the model, or at the run's end."""
_NAMING_EVENTS = ("ConfirmationRequested", "ConfirmationApproved", "ConfirmationDenied")


def rebuild_records(store: Store, stream: str, names: Mapping[str, str]) -> Iterator[tuple[str, Record]]:
    """(user of the log, record), in the order of logging. `names` are by person's key."""
    session, state = to_session_name(stream), fold.create_state()
    for person, record in _rebuild_session(store, stream, session, state, names):
        yield find_log_user(person, state.run.home if state.run else session), record


def _rebuild_session(
    store: Store, stream: str, session: str, state: SessionState, names: Mapping[str, str]
) -> Iterator[tuple[str, Record]]:
    """(key of the person, record); folds the events into `state`."""
    turn: Turn | None = None
    paused: dict[str, Turn] = {}
    decided: dict[str, StoredEvent] = {}
    pending: tuple[StoredEvent, StoredEvent] | None = None
    trail = RunTrail(run=session)
    for event in read_stream(store, stream):
        typed_event = parse_event(event)
        if (
            pending is not None
            and isinstance(typed_event, OutcomeReconciled)
            and typed_event.effect_id == CallOutcomeUnknown.from_data(pending[1].data).effect_id
        ):
            decided[typed_event.effect_id] = pending[0]
        elif pending is not None:
            yield _build_decision(*pending, state, store, names, session)
        pending = None
        turn = paused.pop(typed_event.turn_id, None) if isinstance(typed_event, TurnResumed) else turn
        turn = _update_turn(event, typed_event, turn, state)
        fold.fold_events(state, ((event.type, dict(event.data), event.ts),))
        common = {"v": SCHEMA, "timestamp": event.ts, "rebuilt": True, "session": session}
        if isinstance(typed_event, TurnFinished) and turn is not None and turn.turn_id == typed_event.turn_id:
            for record in _build_turn_records(turn, typed_event, state, store, names):
                yield turn.actor, common | record
            paused |= turn.pause() if typed_event.goes_on else {}
            turn = None
        for owner, node_record in _build_node_records(typed_event, trail, state, store):
            yield owner or event.actor, common | node_record  # the start of an erased person's run names nobody
        decision = _find_decision(event, typed_event, decided)
        if decision is not None and _is_left_by_stop(event, typed_event):
            pending = decision, event  # the next event holds the result of the look at the portal, if there is one
        elif decision is not None:
            yield _build_decision(decision, event, state, store, names, session)
    if pending is not None:
        yield _build_decision(*pending, state, store, names, session)


def _build_node_records(event: Event, trail: RunTrail, state: SessionState, store: Store) -> Iterator[tuple[str, Record]]:
    """Nothing in streams other than runs'."""
    if isinstance(event, RunWoken):
        trail.note_answer(event.node, event.value)
    trail.take(event)
    yield from build_node_records(event, trail, state.agent, store)


def _update_turn(event: StoredEvent, typed_event: Event, turn: Turn | None, state: SessionState) -> Turn | None:
    """None if no turn is open. A received message begins one."""
    if not isinstance(typed_event, MessageReceived):
        if turn is not None:
            turn.take(typed_event)
        return turn
    question = state.question if typed_event.answers else None
    begun = Turn(typed_event, event.actor, question.text if question else typed_event.text)
    if question:  # the text that led to the question counts
        begun.resume(question.answer)
    return begun


def _build_turn_records(turn: Turn, end: TurnFinished, state: SessionState, store: Store, names: Mapping[str, str]) -> Iterator[Record]:
    if end.reason == "failed":
        yield build_trouble_record(turn)
    for record in build_iteration_records(turn, store, _build_person(turn.actor, names)):
        yield record | {"state": trim_state(state.agent)}


def _build_decision(
    decision: StoredEvent, end: StoredEvent, state: SessionState, store: Store, names: Mapping[str, str], session: str
) -> tuple[str, Record]:
    who, record = build_decision_record(decision, parse_event(end), state, store, names)
    return who, {"v": SCHEMA, "timestamp": end.ts, "rebuilt": True, "session": session} | record


def collect_names(store: Store) -> dict[str, str]:
    """By key, from cards and decisions; the newest wins."""
    names: dict[str, str] = {}
    after = ""
    while page := store.scan(_NAMING_EVENTS, after=after):
        for event in page:
            for key in _PERSON_FIELDS:
                if event.data.get(key) and event.data.get(f"{key}_name"):
                    names[event.data[key]] = event.data[f"{key}_name"]
        after = page[-1].id
    return names


@dataclass(kw_only=True)
class ProjectedLog:
    """In a temporary file, since a journal may not fit into memory."""

    path: Path
    places: list[tuple[str, int]] = field(default_factory=list)
    """(timestamp, byte in the file), in no order."""

    def iterate(self) -> Iterator[tuple[str, bytes]]:
        with self.path.open("rb") as file:
            for timestamp, place in sorted(self.places):
                file.seek(place)
                yield timestamp, file.readline().rstrip(b"\n")

    def index(self) -> "Index":
        """By identity, each with its number in order of time."""
        index: Index = {}
        for number, (_, line) in enumerate(self.iterate()):
            record = orjson.loads(line)
            index.setdefault(identify(record), deque()).append((number, record))
        return index


def identify(record: JsonObject) -> Identity:
    """Not unique: a turn that went on after a card repeats it."""
    card, outcome = record.get("confirmation"), record.get("outcome")
    return (
        *(str(record.get(name, "")) for name in ("type", "session", "turn_id", "iteration", "node", "what")),
        str(card.get("confirmation_id", "")) if isinstance(card, Mapping) else "",
        str(outcome.get("notice", "")) if isinstance(outcome, Mapping) else "",
    )


def project_logs(
    store: Store, folder: Path, is_wanted: Callable[[str], bool] = lambda _: True, *, names: Mapping[str, str] | None = None
) -> dict[str, ProjectedLog]:
    """Into `folder`, by user; `names` helps where the journal names nobody. Raises StoreError and UnknownEvent."""
    logs: dict[str, ProjectedLog] = {}
    known = {**(names or {}), **collect_names(store)}
    for stream in store.list_streams():
        for person, record in rebuild_records(store, stream, known):
            if not is_wanted(person):
                continue
            log = logs.setdefault(person, ProjectedLog(path=build_log_path(folder, person).with_suffix(".spool")))
            with open(log.path, "ab", opener=open_private) as file:
                log.places.append((str(record["timestamp"]), file.tell()))
                file.write(encode_record({"timestamp": "", **mask_value(record), "user": person}) + b"\n")
    return logs


def is_meant(meant: str, user: str) -> bool:
    """`meant`: a user, a token, or "" for all."""
    return meant in {"", user, find_log_owner(user)}


def rebuild_logs(
    store: Store, folder: Path, *, user: str = "", names: Mapping[str, str] | None = None, limit: int = LIMIT
) -> dict[str, int]:
    """Into an empty or new `folder`, else FileExistsError; returns records by person.

    Keeps all archives of `limit` bytes, the running bot only ten. Without records no folder is left.
    """
    missing = [place for place in (folder, *folder.parents) if not place.exists()]
    folder.mkdir(FOLDER_MODE, parents=True, exist_ok=True)
    if any(folder.iterdir()):
        raise FileExistsError(f"{folder} is not empty")
    clock = _RecordClock()
    logger = InteractionLogger(folder, clock=clock, limit=limit, keep=1_000_000)
    logs = project_logs(store, folder, partial(is_meant, user), names=names)
    for person, log in sorted(logs.items()):
        for timestamp, record in log.iterate():
            clock.at = parse_iso(timestamp)
            logger.append(person, record)
        log.path.unlink()
    for place in missing if not logs else ():
        place.rmdir()
    return {person: len(log.places) for person, log in sorted(logs.items())}


def rewrite_logs(
    store: Store, folder: Path, texts: Sequence[str], change: Callable[[JsonObject], JsonObject]
) -> tuple[dict[str, int], list[str]]:
    """Replaces records with one of `texts` by the journal's, changed by `change`; those unknown to it go.

    Returns replaced records by user, and errors of unreadable logs, which stay. Raises StoreError and UnknownEvent.
    """
    needles = [orjson.dumps(text)[1:-1] for text in texts]
    counts: dict[str, int] = {}
    troubles: list[str] = []
    naming: list[str] = []
    for user in list_users(folder):
        try:
            if any(needle in line.text for line in read_lines(build_log_path(folder, user)) for needle in needles):
                naming.append(user)
        except DamagedArchive as error:
            troubles.append(str(error))
    with TemporaryDirectory(dir=folder, prefix=".anew-") as place:
        logs = project_logs(store, Path(place), naming.__contains__) if naming else {}
        for user in naming:
            index = logs[user].index() if user in logs else {}

            def replace(text: bytes, index: Index = index) -> bytes | None:
                for record in parse_record(text):
                    same = index.get(identify(record))
                    now = same.popleft()[1] if same else None
                    if not any(needle in text for needle in needles):
                        return text
                    return encode_record(change(now)) if now is not None else None
                return None

            counts[user] = rewrite_log(folder, user, replace)
    return counts, troubles


class _RecordClock(SystemClock):
    """Archives get their original names by the time of records."""

    at: datetime

    def now(self) -> datetime:
        return self.at


def _build_person(key: str, names: Mapping[str, str]) -> dict[str, str]:
    return {"key": key} | ({"name": names[key]} if key in names else {})


def _find_decision(event: StoredEvent, typed_event: Event, open_ones: dict[str, StoredEvent]) -> StoredEvent | None:
    """None if `event` tells no result: a denial's comes at once, an approval's when card or call ends.

    Updates `open_ones`, approvals without a result by effect id.
    """
    match typed_event:
        case ConfirmationApproved():
            open_ones[typed_event.effect_id] = event
            return None
        case ConfirmationDenied():
            return event if typed_event.via not in _WITHDRAWN_VIA else None
        case (
            ConfirmationSuperseded() | ConfirmationReopened() | CallSucceeded() | CallRefused() | CallOutcomeUnknown() | OutcomeReconciled()
        ):
            return open_ones.pop(typed_event.effect_id, None)
        case _:
            return None


def _is_left_by_stop(event: StoredEvent, typed_event: Event) -> bool:
    """A call found unfinished at the start; its decision is logged only after a look in the portal."""
    return isinstance(typed_event, CallOutcomeUnknown) and event.actor == "system" and (event.erased or typed_event.detail == DETAIL)
