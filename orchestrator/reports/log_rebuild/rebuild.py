"""Says what the audit logs must tell, from the journal, and writes them anew. Each rebuilt record is marked as such. Sends nothing.

Three things cannot be rebuilt, because the journal does not hold them: button clicks without effect, the note that a restart found a call
unfinished, and the bot's mode in a turn in which the model made no plan.
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
"""How a card is denied that no person has decided about: the model took it back, or its run ended."""
_NAMING_EVENTS = ("ConfirmationRequested", "ConfirmationApproved", "ConfirmationDenied")


def rebuild_records(store: Store, stream: str, names: Mapping[str, str]) -> Iterator[tuple[str, Record]]:
    """Yield (user of the log, audit record) for every iteration, decision and node of a stream, in the order in which they were logged.

    An iteration is one answer of the model with the calls it led to, a node a named piece of the work of a run. `names` gives the names of
    people by their key.
    """
    session, state = to_session_name(stream), fold.create_state()
    for person, record in _rebuild_session(store, stream, session, state, names):
        yield find_log_user(person, state.run.home if state.run else session), record


def _rebuild_session(
    store: Store, stream: str, session: str, state: SessionState, names: Mapping[str, str]
) -> Iterator[tuple[str, Record]]:
    """Yield (key of the person, audit record) as `rebuild_records` does, and fold the events of the stream into `state`."""
    turn: Turn | None = None
    paused: dict[str, Turn] = {}
    decided: dict[str, StoredEvent] = {}
    held: tuple[StoredEvent, StoredEvent] | None = None
    trail = RunTrail(run=session)
    for event in read_stream(store, stream):
        said = parse_event(event)
        if (
            held is not None
            and isinstance(said, OutcomeReconciled)
            and said.effect_id == CallOutcomeUnknown.from_data(held[1].data).effect_id
        ):
            decided[said.effect_id] = held[0]
        elif held is not None:
            yield _build_decision(*held, state, store, names, session)
        held = None
        turn = paused.pop(said.turn_id, None) if isinstance(said, TurnResumed) else turn
        turn = _update_turn(event, said, turn, state)
        fold.fold_events(state, ((event.type, dict(event.data), event.ts),))
        common = {"v": SCHEMA, "timestamp": event.ts, "rebuilt": True, "session": session}
        if isinstance(said, TurnFinished) and turn is not None and turn.turn_id == said.turn_id:
            for record in _build_turn_records(turn, said, state, store, names):
                yield turn.actor, common | record
            paused |= turn.pause() if said.goes_on else {}
            turn = None
        for owner, told in _build_node_records(said, trail, state, store):
            yield owner, common | told
        decision = _find_decision(event, said, decided)
        if decision is not None and _is_left_by_stop(event, said):
            held = decision, event  # the next event holds the result of the look at the portal, if there is one
        elif decision is not None:
            yield _build_decision(decision, event, state, store, names, session)
    if held is not None:
        yield _build_decision(*held, state, store, names, session)


def _build_node_records(event: Event, trail: RunTrail, state: SessionState, store: Store) -> Iterator[tuple[str, Record]]:
    """Yield (key of the owner, audit record) for what an event tells of a node of a run; nothing in other streams."""
    if isinstance(event, RunWoken):
        trail.note_answer(event.node, event.value)
    trail.take(event)
    yield from build_node_records(event, trail, state.agent, store)


def _update_turn(event: StoredEvent, said: Event, turn: Turn | None, state: SessionState) -> Turn | None:
    """Return the turn that is open after `event`; None if none is open.

    A received message begins a new turn. Any other event is added to the open turn. `said` is `event` as an object of its class.
    """
    if not isinstance(said, MessageReceived):
        if turn is not None:
            turn.take(said)
        return turn
    question = state.question if said.answers else None
    begun = Turn(said, event.actor, question.text if question else said.text)
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
    """Return the names of people by their key, as cards and decisions in the journal give them; the newest name of a person wins."""
    found: dict[str, str] = {}
    after = ""
    while page := store.scan(_NAMING_EVENTS, after=after):
        for event in page:
            for key in _PERSON_FIELDS:
                if event.data.get(key) and event.data.get(f"{key}_name"):
                    found[event.data[key]] = event.data[f"{key}_name"]
        after = page[-1].id
    return found


@dataclass(kw_only=True)
class ProjectedLog:
    """The records that the journal tells of one user, in a temporary file, since a journal may not fit into memory."""

    path: Path
    places: list[tuple[str, int]] = field(default_factory=list)
    """The timestamp and the byte in the file of each record, in no order."""

    def iterate(self) -> Iterator[tuple[str, bytes]]:
        """Yield (timestamp, encoded record) in order of time."""
        with self.path.open("rb") as file:
            for timestamp, place in sorted(self.places):
                file.seek(place)
                yield timestamp, file.readline().rstrip(b"\n")

    def index(self) -> "Index":
        """Return the records by what identifies them, each with its number in order of time."""
        index: Index = {}
        for number, (_, line) in enumerate(self.iterate()):
            record = orjson.loads(line)
            index.setdefault(identify(record), deque()).append((number, record))
        return index


def identify(record: JsonObject) -> Identity:
    """Return what tells a record of a log from others; a few have it in common, such as those of a turn that went on after a card."""
    card, outcome = record.get("confirmation"), record.get("outcome")
    return (
        *(str(record.get(name, "")) for name in ("type", "session", "turn_id", "iteration", "node", "what")),
        str(card.get("confirmation_id", "")) if isinstance(card, Mapping) else "",
        str(outcome.get("notice", "")) if isinstance(outcome, Mapping) else "",
    )


def project_logs(
    store: Store, folder: Path, wanted: Callable[[str], bool] = lambda _: True, *, names: Mapping[str, str] | None = None
) -> dict[str, ProjectedLog]:
    """Write the records of each wanted user to a temporary file in `folder`, and return the files by user.

    `names` gives names by person's key for people whom the journal does not name. Raises StoreError and UnknownEvent.
    """
    logs: dict[str, ProjectedLog] = {}
    known = {**(names or {}), **collect_names(store)}
    for stream in store.list_streams():
        for person, record in rebuild_records(store, stream, known):
            if not wanted(person):
                continue
            log = logs.setdefault(person, ProjectedLog(path=build_log_path(folder, person).with_suffix(".spool")))
            with open(log.path, "ab", opener=open_private) as file:
                log.places.append((str(record["timestamp"]), file.tell()))
                file.write(encode_record({"timestamp": "", **mask_value(record), "user": person}) + b"\n")
    return logs


def is_meant(meant: str, user: str) -> bool:
    """Return whether the log of `user` is meant by the key of a user, or of a token of the HTTP API with all its users; "" means all."""
    return meant in {"", user, find_log_owner(user)}


def rebuild_logs(
    store: Store, folder: Path, *, user: str = "", names: Mapping[str, str] | None = None, limit: int = LIMIT
) -> dict[str, int]:
    """Write the audit logs of all people, or only of `user`, into `folder`; return the number of records by person.

    `folder` must be empty or not exist, else FileExistsError is raised. If there is nothing to write, no new folder is left behind. A log
    file begins a new archive after `limit` bytes; all archives are kept, while the running bot keeps only ten.
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
    """Replace each record that contains one of `texts` by what the journal tells of it now, passed through `change`.

    Return the number of replaced records by user, and the errors of logs that cannot be read, which stay as they are. A record of which the
    journal tells nothing is dropped. Raises StoreError and UnknownEvent.
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
    """A clock that returns the time of the record being written. The logger names archives by it, so they get their original names."""

    at: datetime

    def now(self) -> datetime:
        """Return the time of the current record."""
        return self.at


def _build_person(key: str, names: Mapping[str, str]) -> dict[str, str]:
    return {"key": key} | ({"name": names[key]} if key in names else {})


def _find_decision(event: StoredEvent, said: Event, open_ones: dict[str, StoredEvent]) -> StoredEvent | None:
    """Return the event of a person's decision whose result becomes known with `event`; None if no result becomes known with it.

    The result of a denial is known at once, that of an approval when its card is closed or its call has ended. `open_ones` holds the
    approvals without a result by effect id, and the function updates it. `said` is `event` as an object of its class.
    """
    match said:
        case ConfirmationApproved():
            open_ones[said.effect_id] = event
            return None
        case ConfirmationDenied():
            return event if said.via not in _WITHDRAWN_VIA else None
        case (
            ConfirmationSuperseded() | ConfirmationReopened() | CallSucceeded() | CallRefused() | CallOutcomeUnknown() | OutcomeReconciled()
        ):
            return open_ones.pop(said.effect_id, None)
        case _:
            return None


def _is_left_by_stop(event: StoredEvent, said: Event) -> bool:
    """Return whether `event` says that the bot found an unfinished call at its start, because it had been stopped during the call.

    The running bot logs the decision about such a call only after it has looked in the portal whether the call ran.
    """
    return isinstance(said, CallOutcomeUnknown) and event.actor == "system" and (event.erased or said.detail == DETAIL)
