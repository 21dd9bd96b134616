"""Erases a person, then searches for what identifies them.

The journal's chain stays valid, its personal data unreadable (docs/erasure.md).
"""

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path

from orchestrator.domain.address import Address, list_possible_keys
from orchestrator.gate.call.serialization import StoredOrder
from orchestrator.language.text import replace_yo
from orchestrator.reports.erasure.trace_search import OPS, Trace, find_log_names, search_file, search_logs, search_texts
from orchestrator.reports.log_rebuild.rebuild import collect_names, rewrite_logs
from orchestrator.runs.ending import build_owner_gone_row
from state.audit_log.interaction_log import DamagedArchive, erase_user, list_logs_of, list_users, read_records
from state.audit_log.records import find_log_owner
from state.clock import generate_id
from state.events.base import Event, type_names
from state.events.calls import CallOutcomeUnknown
from state.events.codec import UnknownEvent
from state.events.confirmations import ConfirmationSuperseded
from state.events.people import PersonErased
from state.events.runs import RunStarted
from state.journal.blobs import BLOB_TYPES, is_personal_text, list_digests
from state.journal.encryption import DamagedCiphertext
from state.journal.journal import to_lease_key
from state.journal.store import Commit, EffectChange, EffectStatus, StoredEvent, StoreError, StoreUnwritable
from state.mirror.file import delete_mirrors
from state.sql.person_rows import SEALED
from state.sql.store import SqlStore
from state.stored import JsonObject

_NAME, _BY = "_name", "_by"


def erase_name(value: JsonObject, person: str, names: Collection[str]) -> dict[str, object]:
    """A copy, at all levels with "" for the name of who requested or decided."""
    return {key: "" if _is_their_name(key, value, person, names) else _erase_inside(item, person, names) for key, item in value.items()}


def _erase_inside(value: object, person: str, names: Collection[str]) -> object:
    if isinstance(value, Mapping):
        return erase_name(value, person, names)
    return [_erase_inside(item, person, names) for item in value] if isinstance(value, list | tuple) else value


def _is_their_name(key: str, mapping: JsonObject, person: str, names: Collection[str]) -> bool:
    if key == "name":
        return mapping.get("key") == person
    if key == "who":
        return mapping[key] in names
    if not key.endswith(_BY + _NAME):
        return False
    by = mapping.get(key.removesuffix(_NAME))
    return by == person if by else mapping[key] in names


OPEN: Mapping[str, str] = {
    "requested": "a card waits for a decision",
    "approved": "an approved call has not run yet",
    "started": "a call is under way",
    "unknown": "nobody knows yet whether a call happened",
}
_LEASE = timedelta(seconds=60)
NOTHING_KNOWN = "the audit log was deleted, but this journal held nothing of the person (check STATE_DIR and LOG_DIR)"
SHORTEST_NAME = 3
"""A shorter name is found everywhere, so it is not searched for."""
_UNREADABLE = (DamagedCiphertext, StoreUnwritable)
"""A damaged record, or a key that the database cannot decode."""
_THE_KEY = "(the key itself)"


@dataclass(frozen=True, kw_only=True)
class ErasureFiles:
    """`logs` is the folder of the audit logs; `files` are SQLite's own; `mirrors` is STATE_DIR, with what can be loaded again."""

    logs: Path
    files: tuple[Path, ...] = ()
    mirrors: Path | None = None


@dataclass(frozen=True, kw_only=True)
class PersonSurvey:
    """`obstacles` are reasons not to erase now, such as an open card."""

    person: str
    names: tuple[str, ...]
    rows: Mapping[str, int]
    log_records: int
    in_clear: int
    """Records older than encryption, which cannot be made unreadable."""
    obstacles: tuple[str, ...]
    secrets: tuple[str, ...] = field(repr=False)
    answers: frozenset[str] = field(repr=False)
    """SHA-256 of large values that only this person got."""
    gaps: tuple[str, ...]
    """A sentence for each damage that may leave data behind."""

    @property
    def empty(self) -> bool:
        return not (self.rows or self.log_records or self.in_clear)

    @property
    def unknown(self) -> bool:
        return bool(self.log_records) and not (self.rows.get("events") or self.in_clear)


@dataclass(frozen=True, kw_only=True)
class ErasureResult:
    """What was removed, and where the person is still found."""

    person: str
    removed: Mapping[str, int]
    rewritten: Mapping[str, int]
    searched: tuple[str, ...]
    """Key and names; the secrets of their keys were searched for, too."""
    kept: Mapping[str, int]
    """Rows by table, and "audit logs", that still name the person as the one who acted."""
    remains: tuple[Trace, ...]
    """Names, secrets or stray files that should be gone."""
    held_by_others: tuple[Trace, ...]
    """Other people's records with the same names, left unchanged."""
    unproven_reasons: tuple[str, ...]
    """Why the search proves nothing; empty if it does."""


def list_people(store: SqlStore, place: ErasureFiles, name_of: Callable[[str], str]) -> dict[str, set[str]]:
    """All known names by key ("tg:7"); `name_of` returns the access file's."""
    erasure = store.open_erasure()
    known = {row.person: set[str]() for row in erasure.list_keys()}
    owners = {find_log_owner(user) for user in list_users(place.logs) if ":" in user}
    logged = ((owner, find_log_names(place.logs, owner)) for owner in sorted(owners))
    for key, names in [*erasure.list_actors().items(), *logged, *_collect_journal_names(store).items()]:
        known.setdefault(key, set()).update(names)
    return {key: {*names, name_of(key)} - {""} for key, names in known.items() if not key.startswith(("portal:", "run:"))}


def find_candidates(people: Mapping[str, Collection[str]], who: str) -> list[str]:
    """Keys of a key ("tg:7"), Telegram id or full name; case and ё do not matter."""
    for possible_key in list_possible_keys(who):
        if possible_key in people:
            return [possible_key]
    return sorted(key for key, names in people.items() if _fold_name(who) in map(_fold_name, names))


def find_similar(people: Mapping[str, Collection[str]], who: str) -> list[str]:
    """Keys of people with a name that contains `who`."""
    folded = _fold_name(who)
    return sorted(key for key, names in people.items() if folded and any(folded in _fold_name(name) for name in names))


def _fold_name(name: str) -> str:
    return " ".join(replace_yo(name.casefold()).split())


def _collect_journal_names(store: SqlStore) -> dict[str, set[str]]:
    """By key; {} if the journal is too damaged to read."""
    try:
        return {key: {name} for key, name in collect_names(store).items() if ":" in key}
    except _UNREADABLE:
        return {}


def inspect_person(store: SqlStore, person: str, place: ErasureFiles, *, name: str = "") -> PersonSurvey:
    """Changes nothing. `name` is one more to search for, "" for none."""
    erasure = store.open_erasure()
    names = {name, *erasure.list_actors().get(person, ()), *find_log_names(place.logs, person)}
    digests, in_clear, unread = set[str](), 0, 0
    mine = erasure.list_records(person)
    for stream, seq in mine:
        event = _read_event(store, stream, seq)
        if event is None:
            unread += 1
        else:
            in_clear += _is_in_clear(event)
            names.update(_find_names(event, person))
            digests.update(_find_answers(event))
    obstacles = [f"{OPEN[status]} (effect {effect_id}, {stream})" for effect_id, stream, status in _list_open_effects(store, person)]
    obstacles += [f"an input has not been worked on yet ({row_id})" for row_id in erasure.list_waiting(person)]
    chat = Address.parse(person).chat  # a token is called as its key says, and keys stay
    return PersonSurvey(
        person=person,
        names=tuple(sorted(each for each in names if len(each) >= SHORTEST_NAME and each not in {chat, person})),
        rows=erasure.count_holdings(person),
        log_records=_count_log_records(place.logs, person),
        in_clear=in_clear,
        obstacles=tuple(obstacles),
        secrets=tuple(erasure.list_secrets(person)),
        answers=frozenset(digests - _find_shared_answers(store, set(mine), digests)),
        gaps=tuple(_find_gaps(store, person, unread)),
    )


def _count_log_records(folder: Path, person: str) -> int:
    count = 0
    for user in list_logs_of(folder, person):
        with suppress(DamagedArchive):
            for _ in read_records(folder, user):
                count += 1
    return count


def _find_gaps(store: SqlStore, person: str, unread: int) -> Iterator[str]:
    """What may leave data behind; `unread` records of the person cannot be read."""
    erasure = store.open_erasure()
    for row in erasure.list_keys():
        if row.damage and row.person == person:
            yield f"the row of their key {row.key_id} is damaged ({row.damage})"
        elif row.damage:
            yield f"a row of the keys is damaged and may be theirs ({row.damage})"
    if unread:
        yield f"{unread} of their records cannot be read, so nobody knows which large answers are theirs"
    if lost := erasure.count_unkeyed(person):
        yield f"{lost} of their records are sealed under a key that is not known as theirs: it was not removed"


def erase_person(store: SqlStore, person_survey: PersonSurvey, place: ErasureFiles, *, now: datetime, by: str) -> ErasureResult:
    """Even with obstacles. `by` ordered it; the stream `session:ops` records it. Raises StoreError."""
    erasure, person, names = store.open_erasure(), person_survey.person, person_survey.names
    dropped = erasure.drop_damaged(person, now)
    _close_open(store, person, now)
    unname = partial(erase_name, person=person, names=names)
    end_run = partial(build_owner_gone_row, now=now)
    removed = Counter(erasure.erase(person, now, digests=person_survey.answers, change=unname, end_run=end_run))
    # Ending the leases did not stop a session opened for the first time during the erasure: erase again what it wrote meanwhile.
    removed.update(erasure.erase(person, now, digests=person_survey.answers, change=unname, end_run=end_run))
    own_logs = {person, *list_logs_of(place.logs, person)}
    removed.update({"person_keys": dropped, "log records": sum(erase_user(place.logs, user) for user in sorted(own_logs))})
    removed["mirrors"] = delete_mirrors(place.mirrors) if place.mirrors is not None else 0
    rewritten, troubles = _rewrite_logs(store, place.logs, person, names)
    erasure.purge_disk()
    kept_counts, remains, others = _search_leftovers(store, person_survey, place)
    done = ErasureResult(
        person=person,
        removed={name: count for name, count in removed.items() if count},
        rewritten=rewritten,
        searched=(person, *names),
        kept=kept_counts,
        remains=tuple(remains),
        held_by_others=tuple(others),
        unproven_reasons=tuple(filter(None, (*person_survey.gaps, NOTHING_KNOWN if person_survey.unknown else "", *troubles))),
    )
    _record_erasure(store, done, now=now, by=by)
    return done


def _rewrite_logs(store: SqlStore, folder: Path, person: str, names: Sequence[str]) -> tuple[dict[str, int], list[str]]:
    """(changed records by user, failures)."""
    if not folder.is_dir():
        return {}, []
    try:
        return rewrite_logs(store, folder, [person, *names], partial(erase_name, person=person, names=names))
    except (UnknownEvent, *_UNREADABLE) as error:
        return {}, [f"the audit logs of others were not written anew ({error})"]


def _search_leftovers(
    store: SqlStore, person_survey: PersonSurvey, place: ErasureFiles
) -> tuple[Mapping[str, int], list[Trace], list[Trace]]:
    """(rows with the person's key by table, what should be gone, other people's).

    Raw bytes are searched only for what no row and log had.
    """
    person, secrets = person_survey.person, person_survey.secrets
    texts = [*person_survey.names, *secrets]
    kept_counts = Counter[str]()
    traces: list[Trace] = []
    for trace in search_texts(store.open_erasure().iterate_texts(), [person, *texts]):
        if trace.text == person:
            kept_counts[trace.place.partition(" ")[0]] += 1
        else:
            traces.append(trace)
    for trace in search_logs(place.logs, [person, *texts]):
        if trace.text == person and trace.owner not in {"", person}:
            kept_counts["audit logs"] += 1
        else:
            traces.append(trace)
    # A large answer that only the person got was deleted.
    theirs = [trace for trace in traces if trace.owner not in {"", person} or trace.place.startswith("blobs ")]
    others = [trace for trace in theirs if trace.text not in secrets]
    remains = [trace for trace in traces if trace not in others]
    explained = {trace.text for trace in (*remains, *others)}
    for path in place.files:
        left = [text for text in search_file(path, texts) if text not in explained]
        remains += [Trace(place=f"free space of {path.name}", owner="", text=text) for text in left]
    hidden = [replace(trace, text=_THE_KEY) if trace.text in secrets else trace for trace in remains]
    return kept_counts, hidden, others


def _is_in_clear(event: StoredEvent) -> bool:
    """Has personal fields that are not encrypted."""
    blanks = type_names[event.type].blanks
    return SEALED not in event.raw and any(event.data.get(name) != blank for name, blank in blanks.items())


def _find_names(event: StoredEvent, person: str) -> Iterator[str]:
    for name in type_names[event.type].blanks:
        if name.endswith("by_name") and event.data.get(name.removesuffix("_name")) == person:
            yield str(event.data.get(name) or "")


def _read_event(store: SqlStore, stream: str, seq: int) -> StoredEvent | None:
    """None if it is missing or damaged, which must not prevent an erasure."""
    try:
        events = store.read_events(stream, after=seq - 1, limit=1)
    except _UNREADABLE:
        return None
    return events[0] if events and events[0].seq == seq else None


def _find_answers(event: StoredEvent) -> set[str]:
    """SHA-256 of large values, without the run's own definition, which is the company's."""
    return set(list_digests(event.type, event.data if is_personal_text(event.data) else {**event.data, "digest": ""}))


def _find_shared_answers(store: SqlStore, mine: set[tuple[str, int]], digests: set[str]) -> set[str]:
    """Others refer to them, so they stay; unreadable records of others are ignored.

    `mine` are (stream, number).
    """
    shared, after = set[str](), ""
    try:
        while digests and (page := store.scan(BLOB_TYPES, after=after)):
            shared |= _find_theirs(page, mine)
            after = page[-1].id
    except _UNREADABLE:
        shared = _find_theirs(list(_read_one_by_one(store)), mine)
    return shared & digests


def _find_theirs(stored_events: Sequence[StoredEvent], mine: set[tuple[str, int]]) -> set[str]:
    """A run's definition counts for everybody: its name is clear."""
    theirs = {digest for event in stored_events if (event.stream, event.seq) not in mine for digest in list_digests(event.type, event.data)}
    started = [event.data for event in stored_events if event.type == RunStarted.__name__]
    return theirs | {str(data["digest"]) for data in started if not is_personal_text(data)}


def _read_one_by_one(store: SqlStore) -> Iterator[StoredEvent]:
    """One by one, so that damaged records can be skipped."""
    for stream in store.list_streams():
        after = 0
        while page := store.read_records(stream, after):
            after = page[-1][0]
            answers = (_read_event(store, stream, seq) for seq, raw, _ in page if any(f'"type":"{kind}"' in raw for kind in BLOB_TYPES))
            yield from (event for event in answers if event is not None)


def _list_open_effects(store: SqlStore, person: str) -> list[tuple[str, str, str]]:
    return store.open_erasure().list_effects(person, list(OPEN))


def _close_open(store: SqlStore, person: str, now: datetime) -> None:
    """Cards are withdrawn; started calls become "unknown", and nobody looks them up in the portal."""
    for effect_id, stream, status in _list_open_effects(store, person):
        row = store.find_effect(effect_id)
        if row is None or status == "unknown":
            continue
        event, becomes = _build_closing_event(effect_id, status, StoredOrder.from_data(row.call))
        change = EffectChange(effect_id=effect_id, expect=(status,), status=becomes)
        _commit(store, stream, event, now=now, actor="system", effects=[change], key_owner=person)


def _build_closing_event(effect_id: str, status: str, order: StoredOrder) -> tuple[Event, EffectStatus]:
    if status == "started":
        unknown = CallOutcomeUnknown(
            effect_id=effect_id,
            turn_id=order.turn_id,
            slot=order.slot,
            confirmation_id=order.confirmation_id,
            method=order.call.method,
            call_class=order.call_class,
        )
        return unknown, "unknown"
    return ConfirmationSuperseded(confirmation_id=order.confirmation_id, effect_id=effect_id, why="erased"), "superseded"


def _record_erasure(store: SqlStore, done: ErasureResult, *, now: datetime, by: str) -> None:
    removed = [f"{name}: {count}" for name, count in sorted(done.removed.items())]
    search = {"remains": len(done.remains), "probes": len(done.searched), "unproven": len(done.unproven_reasons)}
    event = PersonErased(person=done.person, by=by, keys=done.removed.get("person_keys", 0), removed=removed, **search)
    _commit(store, f"session:{OPS}", event, now=now, actor=by)


def _commit(
    store: SqlStore, stream: str, event: Event, *, now: datetime, actor: str, effects: Sequence[EffectChange] = (), key_owner: str = ""
) -> None:
    session = to_lease_key(stream)
    store.expire_leases()
    lease = store.acquire(session, f"erase {generate_id()}", now, now + _LEASE)
    if lease is None:
        raise StoreError(f"the bot is working on {session} at this moment: try again, or stop it first")
    try:
        store.commit(Commit(stream=stream, epoch=lease.epoch, actor=actor, now=now, events=[event], effects=effects, key_owner=key_owner))
    finally:
        store.release(lease)
