"""Compares the audit logs with the journal, record by record. Changes nothing."""

from collections import Counter, deque
from collections.abc import Iterator, Mapping, Sized
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import orjson

from bitrix.masking import mask_value
from orchestrator.domain.actor import MODES
from orchestrator.reports.erasure.trace_search import OPS
from orchestrator.reports.log_rebuild.rebuild import Index, identify, is_meant, project_logs
from orchestrator.reports.reading.journal_reader import read_stream
from state.audit_log.archives import list_segments
from state.audit_log.interaction_log import KEEP, DamagedArchive, Line, list_users, read_lines
from state.audit_log.records import CHAIN, build_log_path, find_log_owner
from state.clock import format_iso, parse_iso
from state.events.people import PersonErased
from state.findings import Finding, FindingKind
from state.journal.run_index import PREFIX
from state.journal.store import Store
from state.stored import JsonObject

_LOG_ONLY: Final = frozenset({CHAIN, "rebuilt", "trace_id", "v", "timestamp"})
"""Not compared: the journal lacks them."""
_ADDED_LATER: Final = frozenset({"provider", "failed_before", "service_answers", "run"})
_PARTS: Final = frozenset({"outcome", "requested_by", "decided_by", "confirmation", "tokens"})
"""Their own fields are compared, where both have them."""
_CALL_FIELDS: Final = frozenset(
    {"call_id", "method", "proposed", "params", "status", "class", "commands", "confirmation_id", "reasons", "answer"}
    | {"reason", "code", "detail"}
)
"""The same in every version: none was added later."""
_WHY: Final = frozenset({"reason", "code"})
"""Of a refused read the journal has the portal's code, the log the code of our sentence."""
_AS_JUDGED: Final = frozenset({"proposed"})
"""In the journal only as the call was judged."""
_KNOWN_ONCE: Final = frozenset({"proposed", "class", "detail", "reason", "code", "answer", "params", "commands"})
"""Unknown to a turn that went on after a stop; its calls have no class."""
_UNKNOWN_AGAIN: Final[JsonObject] = {"answer": None, "reasons": []}
"""In a record of a call submitted a second time."""
_NO_EVENT: Final = frozenset({"waiting", "planned"})
"""Perhaps in no event: a card that waited already, a plan that is not stored."""
_TIME_APART: Final = timedelta(hours=1)
"""A run's records are written when it waits or ends."""


def is_without_event(record: JsonObject) -> bool:
    outcome = record.get("outcome")
    match record.get("type"):
        case "decision":
            return not isinstance(outcome, Mapping) or not (outcome.get("status") or outcome.get("notice") == "card-denied")
        case "iteration":
            return not record.get("model") and not record.get("executed_actions") and record.get("model_response") in ({}, {"raw": ""})
        case kind:
            return kind != "node"


def is_cut_off(projected: JsonObject) -> bool:
    """A stop cut off the call, so the decision may be in no log."""
    outcome = projected.get("outcome")
    return isinstance(outcome, Mapping) and "status" in outcome and "call_class" not in outcome


def find_difference(record: JsonObject, projected: JsonObject) -> str:
    """The first field that differs; "" if none."""
    return next(_find_differences(record, projected), "")


def _find_differences(record: JsonObject, projected: JsonObject) -> Iterator[str]:
    yield from (who for who in ("requested_by", "decided_by") if _get_key(record, who) != _get_key(projected, who))
    if _is_settled_later(record, projected):
        return
    if abs(parse_iso(str(record.get("timestamp"))) - parse_iso(str(projected["timestamp"]))) > _TIME_APART:
        yield "timestamp"
    for name in sorted((projected.keys() | record.keys()) - _LOG_ONLY):
        value, expected = record.get(name), projected.get(name)
        if name not in record:
            is_different = name not in _ADDED_LATER and bool(expected)
        elif name == "executed_actions" and record["type"] != "decision":
            yield from _compare_calls(_list_calls(value), _list_calls(expected))
            continue
        elif name in _PARTS and isinstance(value, Mapping) and isinstance(expected, Mapping):
            common = sorted(value.keys() & expected.keys())
            yield from (f"{name}.{part}" for part in common if not _is_same_part(part, value[part], expected[part]))
            continue
        else:
            is_different = not _is_same_field(name, record, projected)
        if is_different:
            yield name


def _is_same_field(name: str, record: JsonObject, projected: JsonObject) -> bool:
    value, expected = record[name], projected.get(name)
    match name:
        case "targets":
            return bool(value == sorted({str(call.get("method")) for call in _list_calls(record.get("executed_actions"))}))
        case "state":
            return _is_covered(value, expected)
        case "seconds":
            return value == expected or not value  # see _KNOWN_ONCE
        case "mode" if not expected:  # a turn without a plan
            return value in MODES
        case "mode" if str(record.get("session")).startswith(PREFIX) and expected in MODES:
            # a run is played as strictly as its owner's present mode, if that is stricter than when it began
            return value in MODES[: MODES.index(expected) + 1]
        case _:
            return bool(value == expected)


def _is_settled_later(record: JsonObject, projected: JsonObject) -> bool:
    """The record has the card's fate, the journal what a later look found."""
    outcome = record.get("outcome")
    return is_cut_off(projected) and isinstance(outcome, Mapping) and "call_class" in outcome


def _is_same_part(name: str, value: object, expected: object) -> bool:
    is_erased = value == "" and name.endswith("name")
    return value == expected or is_erased or (name == "call" and not value)  # of what was not sent the journal has what was to be


def _is_covered(value: object, expected: object) -> bool:
    """The journal's state may have fields that were added later."""
    if isinstance(value, Mapping) and isinstance(expected, Mapping):
        return all(name in expected and (_is_covered(value[name], expected[name]) or _is_same_part(name, value[name], 0)) for name in value)
    if isinstance(value, list) and isinstance(expected, list) and len(value) == len(expected):
        return all(_is_covered(one, other) for one, other in zip(value, expected, strict=True))
    return value == expected


def _compare_calls(calls: list[JsonObject], events: list[JsonObject]) -> Iterator[str]:
    """The names of fields that differ."""
    known = {call.get("call_id"): call for call in events}
    for number, call in enumerate(calls):
        event = known.pop(call.get("call_id"), None)
        if event is None:
            if call.get("status") not in _NO_EVENT:
                yield f"executed_actions[{number}]"
            continue
        yield from (f"executed_actions[{number}].{name}" for name in _compare_call(call, event))
    if known:
        yield "executed_actions"


def _compare_call(call: JsonObject, event: JsonObject) -> Iterator[str]:
    skipped = _KNOWN_ONCE if call.get("class") == "" and event.get("class") else _AS_JUDGED
    for name in sorted((event.keys() | call.keys() - _CALL_FIELDS) - skipped):
        if name not in call:
            is_different = name not in _WHY or not call.keys() & _WHY
        else:
            is_different = call[name] != event.get(name) and (name not in _UNKNOWN_AGAIN or call[name] != _UNKNOWN_AGAIN[name])
        if is_different:
            yield name


def _list_calls(value: object) -> list[JsonObject]:
    return [call for call in value if isinstance(call, Mapping)] if isinstance(value, list) else []


def _get_key(record: JsonObject, who: str) -> object:
    person = record.get(who)
    return person.get("key") if isinstance(person, Mapping) else None


_WRITTEN_WITHIN: Final = timedelta(minutes=1)
"""A record is written after its event; a slow disk takes longer."""
_MENDED: Final = "`sdelka logs rebuild` writes it anew"


def find_erasures(store: Store) -> dict[str, str]:
    """The last one of each person, by key."""
    erasures = (event for event in read_stream(store, f"session:{OPS}") if event.type == PersonErased.__name__)
    return {PersonErased.from_data(event.data).person: event.ts for event in erasures}


def verify_logs(store: Store, folder: Path, user: str = "", *, now: datetime) -> Iterator[Finding]:
    """Of all users if `user` is ""; a token means all its users.

    The last minute is not missed yet. Raises StoreError and UnknownEvent.
    """
    erased = find_erasures(store)
    since = format_iso(now - _WRITTEN_WITHIN)
    with TemporaryDirectory() as place:
        of_owner = partial(is_meant, find_log_owner(user))
        logs = project_logs(store, Path(place), of_owner)
        users = sorted({*filter(of_owner, list_users(folder)), *logs}, key=lambda each: (find_log_owner(each), each))
        for owner, same_owner in groupby(users, find_log_owner):
            indexes = {each: logs[each].index() if each in logs else {} for each in same_owner}
            for each in indexes:
                findings = list(_LogComparison(each, indexes, erased.get(owner, ""), since).compare(folder))
                yield from findings if is_meant(user, each) else ()


@dataclass
class _LogComparison:
    """`projected` has what no log told yet, also of the token's other users, whose older records are in its log."""

    user: str
    projected: Mapping[str, Index]
    erased_at: str
    since: str
    first: str = ""
    """The time of the oldest record in the log."""
    is_later: bool = False
    """Whether the oldest record says of itself, as those of older versions do, that others were before it."""
    torn: list[Line] = field(default_factory=list)
    extra: list[tuple[Line, JsonObject]] = field(default_factory=list)
    """Records unknown to the journal."""
    differing: list[tuple[Line, str]] = field(default_factory=list)
    places: list[tuple[int, str, int]] = field(default_factory=list)
    """(number, file, line) of each record known to the journal."""

    def compare(self, folder: Path) -> Iterator[Finding]:
        """Of each kind the first, and how many more."""
        path = build_log_path(folder, self.user)
        damage = ""
        try:
            for line in read_lines(path):
                self._take(line)
        except DamagedArchive as error:
            damage = str(error)
            yield self._build_finding("damaged", damage)
        except FileNotFoundError:
            pass
        if self.differing:
            line, name = self.differing[0]
            yield self._build_finding("inconsistent", f"{name} is not what the journal tells{_count_more(self.differing)}", line)
        added = [(line, record) for line, record in self.extra if not is_without_event(record) and _get_time(record) < self.since]
        if added:
            line, record = added[0]
            why = f"the journal does not tell of this {record.get('type')}{_count_more(added)}: it was added, or an older database put back"
            yield self._build_finding("inconsistent", why, line)
        if self.extra and len(added) < len(self.extra):
            why = f"{len(self.extra) - len(added)} records tell of what is in no event, such as presses that did not count"
            yield self._build_finding("note", why)
        if not damage:
            is_pruned = self.is_later or (folder.is_dir() and len(list_segments(path)) >= KEEP)
            yield from self._check_missing(is_pruned=is_pruned)

    def _take(self, line: Line) -> None:
        try:
            record = orjson.loads(line.text)
            if not self.first:
                self.first, self.is_later = _get_time(record), _get_number(record) > 1
        except (orjson.JSONDecodeError, AttributeError):
            if line.text.strip():
                self.torn.append(line)
            return
        if record.get("type") == "rewritten":  # older versions noted so that an erasure had changed the log
            return
        same = self._find(record, self.user) or self._find(record, str(record.get("session")))
        if not same:
            self.extra.append((line, record))
            return
        number, projected = same.popleft()
        self.places.append((number, line.file, line.number))
        difference = find_difference({**mask_value(record), "user": record.get("user")}, {**projected, "user": self.user})
        if difference:
            self.differing.append((line, difference))

    def _find(self, record: JsonObject, user: str) -> deque[tuple[int, JsonObject]] | None:
        return self.projected.get(user, {}).get(identify(record))

    def _check_missing(self, *, is_pruned: bool) -> Iterator[Finding]:
        gone = Counter[str]()
        missing: list[tuple[int, JsonObject]] = []
        first = min(self.places, default=(0, "", 0))[0]
        left = (each for same in self.projected[self.user].values() for each in same if not is_without_event(each[1]))
        for number, record in sorted(left, key=itemgetter(0)):
            if _get_time(record) <= self.erased_at:
                gone[f"went when the person was erased ({self.erased_at})"] += 1
            elif is_pruned and number < first:
                gone[f"from before {self.first} went with the oldest archives"] += 1
            elif is_cut_off(record):
                gone["are in the journal only: the program was stopped during the calls that they decided about"] += 1
            elif _get_time(record) < self.since:
                missing.append((number, record))
        yield from (self._build_finding("note", f"{count} records {why}") for why, count in gone.items())
        if missing:
            number, record = missing[0]
            before = max((place for place in self.places if place[0] < number), default=(0, "", 0))
            where = "behind this line" if before[1] else "before the first record"
            why = f"the {record['type']} of {_get_time(record)} in {record['session']} is missing {where}{_count_more(missing)}: {_MENDED}"
            yield Finding(kind="missing", place=self.user, why=why, file=before[1], seq=before[2] or None)
        if self.torn:
            why = "no record, and something is missing" if missing else "half a record, which its writer never finished; nothing is missing"
            yield self._build_finding("damaged" if missing else "note", f"{why}{_count_more(self.torn)}", self.torn[0])

    def _build_finding(self, kind: FindingKind, why: str, line: Line | None = None) -> Finding:
        return Finding(kind=kind, place=self.user, why=why, file=line.file if line else "", seq=line.number if line else None)


def _get_time(record: JsonObject) -> str:
    return str(record.get("timestamp"))


def _get_number(record: JsonObject) -> int:
    """The number of a record in its log, which older versions wrote into its chain; 1 without."""
    chain = record.get("chain")
    return int(chain.get("n") or 1) if isinstance(chain, dict) else 1


def _count_more(items: Sized) -> str:
    return f" (and {len(items) - 1} more)" if len(items) > 1 else ""
