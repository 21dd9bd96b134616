"""Verifies the whole journal in one pass. Repairs nothing."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Protocol, get_args

from state.events.orders import OrderAdded
from state.events.schedules import ScheduleAdded
from state.findings import Finding
from state.journal import freeze_switch
from state.journal.store import EffectRow, EffectStatus, Store, StoredEvent
from state.sql import open_reader
from state.sql.raw_records import RawReader, open_raw
from state.sql.record_index import find_differences
from state.sql.run_index import find_run_differences
from state.verify import database
from state.verify.chain import Chain, check_next
from state.verify.definitions import check_definition_texts, find_definition_differences
from state.verify.freeze_switch import check_switch
from state.verify.orders import check_orders
from state.verify.schedules import check_schedules
from state.verify.snapshots import SnapshotChecker, check_blobs

PAGE = 500
TRIES = 3


class StreamChecker(Protocol):
    def add_event(self, event: StoredEvent) -> None:
        """Called once per event, in order."""

    def list_findings(self, rows: Sequence[EffectRow]) -> Iterable[Finding]: ...

    @property
    def count(self) -> int: ...


@dataclass(kw_only=True)
class JournalReport:
    streams: int = 0
    records: int = 0
    effects: int = 0
    findings: list[Finding] = field(default_factory=list)
    uncheckable: str = ""
    """Why it could not be verified; "" if it was or is damaged."""


Anchors = Mapping[str, Sequence[tuple[int, str]]]
"""Stream → (seq, hash) that its chain must contain."""


def verify_journal(url: str, *, judge: Callable[[str], StreamChecker], anchors: Anchors, progress: Callable[[int], None]) -> JournalReport:
    """Damage raises nothing and is a finding; works beside a running bot.

    `progress` gets the records read since its last call. Raises FileNotFoundError.
    """
    path = database.find_sqlite_path(url)
    if path and not path.is_file():
        raise FileNotFoundError(f"there is no database {path}")
    verified = JournalReport(findings=list(database.check_log(path)) if path else [])
    opened = False
    try:
        with open_raw(url) as raw:
            store = open_reader(url)
            opened = True
            try:
                _check_journal(_Check(path, store, raw, verified, judge, anchors, progress))
            finally:
                store.close()
    except Exception as error:  # noqa: BLE001 - a damaged database makes the driver raise anything; whatever it is, it is the finding
        verified.uncheckable = "" if opened else database.explain_unchecked(url)
        message = database.TABLE_LIST_DAMAGED if isinstance(error, UnicodeDecodeError) else error
        why = f"the check could not go on: {message}" if opened else f"the database does not open: {message}"
        verified.findings.append(Finding(kind="unreadable", place="database", why=why))
        verified.findings.extend(database.check_structure(path) if path else ())
    if path:
        verified.findings = [one if one.file or one.kind == "note" else replace(one, file=str(path)) for one in verified.findings]
    return verified


@dataclass(frozen=True)
class _Check:
    path: Path | None
    store: Store
    raw: RawReader
    verified: JournalReport
    judge: Callable[[str], StreamChecker]
    anchors: Anchors
    progress: Callable[[int], None]
    scheduling: set[str] = field(default_factory=set)
    ordering: set[str] = field(default_factory=set)

    def note_schedules(self, event: StoredEvent) -> None:
        if event.type == ScheduleAdded.__name__:
            self.scheduling.add(event.stream)
        elif event.type == OrderAdded.__name__:
            self.ordering.add(event.stream)


def _check_journal(look: _Check) -> None:
    findings = look.verified.findings
    findings.extend(database.check_types(look.raw))
    spoken_of: dict[str, tuple[str, int]] = {}
    before = frozenset(look.raw.list_digests())
    whole = True
    for stream in sorted(look.raw.list_streams() | look.anchors.keys()):
        chain = _check_chain(look, stream)
        wrong = chain.findings or _check_meaning(look, stream, spoken_of)
        whole = whole and not (wrong and stream == freeze_switch.STREAM)
        findings.extend([*wrong, *_check_clock(chain)])
        look.verified.streams += 1
    findings.extend(check_switch(look.store) if whole else ())
    sound = all(finding.kind == "note" for finding in findings)  # what a damaged record speaks of nobody knows
    findings.extend(check_blobs(look.store, spoken_of, look.raw.list_digests(), before=before if sound else ()))
    findings.extend(check_definition_texts(look.raw.ask))
    findings.extend(database.check_structure(look.path) if look.path else ())
    if all(finding.kind == "note" for finding in findings):  # further comparisons with a damaged journal would mean nothing
        findings.extend(find_differences(look.raw.ask))
        findings.extend(find_run_differences(look.raw.ask))
        findings.extend(find_definition_differences(look.raw.ask))
        findings.extend(check_schedules(look.store, look.scheduling))
        findings.extend(check_orders(look.store, look.ordering))


def _check_chain(look: _Check, stream: str) -> Chain:
    """Verify it with its stored head and its anchors.

    A running bot may append, so the head is read after the records.
    """
    chain = Chain(stream=stream)
    for _ in range(TRIES):
        try:
            for count in check_next(chain, look.raw):
                look.verified.records += count
                look.progress(count)
            seq, head = look.store.read_head(stream)
        except Exception as error:  # noqa: BLE001 - see verify_journal
            chain.add("damaged", chain.seq + 1, f"it cannot be read: {error}")
            return chain
        if seq <= chain.seq:
            break
    _check_end(chain, seq, head)
    for anchored, anchored_hash in look.anchors.get(stream, ()):
        _check_anchor(chain, look.raw, anchored, anchored_hash)
    return chain


def _check_end(chain: Chain, seq: int, head: str) -> None:
    if seq > chain.seq:
        chain.add("cut", chain.seq + 1, f"the stream ends at {chain.seq}, its head says {seq}")
    elif seq < chain.seq:
        chain.add("inconsistent", seq + 1, f"the stream goes on to {chain.seq}, its head says {seq}", of="head")
    elif head != chain.hash:
        chain.add("inconsistent", seq, "the last record is not the one that the head names", of="head")


def _check_anchor(chain: Chain, raw: RawReader, seq: int, anchored_hash: str) -> None:
    if seq > chain.seq:
        chain.add("cut", chain.seq + 1, f"the stream ends at {chain.seq}, it was anchored at {seq}")
        return
    rows = next(raw.read_records(chain.stream, seq - 1), [])
    if not rows or rows[0][0] != seq or rows[0][-1] != anchored_hash.encode():
        chain.add("damaged", seq, f"record {seq} is not the one that was anchored: this stream was written anew")


def _check_meaning(look: _Check, stream: str, spoken_of: dict[str, tuple[str, int]]) -> list[Finding]:
    """Compare events, effects and snapshot; only for an intact chain. `spoken_of` gets digest → (stream, seq)."""
    findings: list[Finding] = []
    for _ in range(TRIES):
        before = look.store.read_head(stream)
        judge = look.judge(stream)
        try:
            snapshot = look.store.load_snapshot(stream)
            if snapshot is None and look.raw.has_snapshot(stream):
                raise ValueError("it is no JSON")  # noqa: TRY301 - one finding for whatever keeps it from being read
            folded = SnapshotChecker(stream, snapshot)
        except Exception as error:  # noqa: BLE001 - see verify_journal
            return [Finding(kind="damaged", place=f"snapshot of {stream}", why=f"it cannot be read: {error}")]
        findings = list(_feed_events(look.store, stream, (judge.add_event, folded.add_event, look.note_schedules)))
        # If the events could not be read to the end, comparing snapshot and effects with them would blame intact data.
        findings = findings or [*folded.list_findings(), *_check_rows(look, stream, judge)]
        if not findings or look.store.read_head(stream) == before:
            break
    look.verified.effects += judge.count
    spoken_of.update({digest: (stream, seq) for digest, seq in folded.blobs.items()})
    return findings


def _check_rows(look: _Check, stream: str, judge: StreamChecker) -> Iterable[Finding]:
    try:
        rows = [row for status in get_args(EffectStatus) for row in look.store.list_effects(stream, status)]
    except Exception as error:  # noqa: BLE001 - see verify_journal
        rows, damaged = _read_effects_singly(look, stream)
        if not damaged:
            return [Finding(kind="damaged", place="table effects", why=f"it cannot be read: {error}")]
        damaged_places = {finding.place for finding in damaged}
        return [*damaged, *(finding for finding in judge.list_findings(rows) if finding.place not in damaged_places)]
    return judge.list_findings(rows)


def _read_effects_singly(look: _Check, stream: str) -> tuple[list[EffectRow], list[Finding]]:
    rows, damaged = [], []
    for effect_id in look.raw.list_effect_ids(stream):
        try:
            row = look.store.find_effect(effect_id)
        except Exception as error:  # noqa: BLE001 - see verify_journal
            damaged.append(Finding(kind="damaged", place=f"effect {effect_id} of {stream}", why=f"its row cannot be read: {error}"))
        else:
            rows += [row] if row is not None else []
    return rows, damaged


def _feed_events(store: Store, stream: str, sees: Sequence[Callable[[StoredEvent], None]]) -> Iterator[Finding]:
    after, limit = 0, PAGE
    while True:
        try:
            page = store.read_events(stream, after=after, limit=limit)
        except Exception as error:  # noqa: BLE001 - see verify_journal
            if limit > 1:
                limit = 1  # one by one, to find the record at fault
                continue
            yield Finding(kind="damaged", place=stream, seq=after + 1, why=f"the hash fits, but what it says cannot be read: {error}")
            return
        for event in page:
            try:
                for see in sees:
                    see(event)
            except (LookupError, TypeError, ValueError, AttributeError) as error:
                why = f"the hash fits, but it is no {event.type} as this program writes it: {error!r}"
                yield Finding(kind="damaged", place=stream, seq=event.seq, why=why)
                return
        if len(page) < limit:
            return
        after = page[-1].seq


def _check_clock(chain: Chain) -> Iterator[Finding]:
    if chain.set_back:
        yield Finding(kind="note", place=chain.stream, why=f"the clock went back {chain.set_back} times; the order is that of the numbers")
    if chain.newer > 1:
        yield Finding(kind="note", place=chain.stream, why=f"{chain.newer} records are of a newer program")
