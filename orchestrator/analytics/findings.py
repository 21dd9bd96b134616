"""Counts: runs the statements of a question and joins their rows. Runs in the worker, so it imports nothing heavy."""

import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal

from orchestrator.analytics.statements import Statement
from state.mirror.median import Median

PAST: Final = "past"  # as in the vocabulary, which the worker does not load

Number = int | float | None
Key = tuple[str | None, ...]
MOST_FOUND: Final = 5_000
"""Rows that leave the worker; whoever shows them shows fewer."""


@dataclass(frozen=True, slots=True)
class Combine:
    """How the parts of a measure become its number, and those of groups the parts of their sum."""

    how: Literal["add", "ratio", "max", "alone"]
    scale: float
    is_share: bool = False

    @property
    def width(self) -> int:
        return 2 if self.how == "ratio" else 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """`axis` are the keys of a time in their order, `axis_before` those that they are compared with, place by place."""

    key_count: int
    combines: tuple[Combine, ...]
    groups: Statement
    total: Statement
    groups_before: Statement | None = None
    total_before: Statement | None = None
    whole: Statement | None = None
    whole_before: Statement | None = None
    """What shares are of, if a condition names groups."""
    named: tuple[str, ...] = ()
    """Groups that are rows also without records."""
    axis: tuple[str, ...] = ()
    axis_before: tuple[str, ...] = ()
    axis_place: int | None = None
    order_place: int = 0
    is_rising: bool = False
    limit: int = MOST_FOUND
    without_empty: bool = False
    """The group "not set" is left out of the list, not of the total."""
    per: "Job | None" = None
    causes: tuple[tuple[str, Statement, Statement], ...] = ()
    left_out: Statement | None = None


@dataclass(frozen=True, slots=True)
class Found:
    keys: Key
    records: int
    numbers: tuple[Number, ...]
    before: tuple[Number, ...] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Findings:
    """`rest` joins `rest_groups` groups that are not among the rows. `causes`: dimension → (key, now, before) of the first measure."""

    rows: tuple[Found, ...]
    total: Found
    whole: Found | None = None
    """What shares are of, if that is not the total."""
    rest: Found | None = None
    rest_groups: int = 0
    groups: int = 0
    causes: Mapping[str, tuple[tuple[str | None, Number, Number], ...]]
    left_out: tuple[int, ...] = ()
    parts: tuple[tuple[Number, ...], tuple[Number, ...]] = ((), ())
    """(records, the parts of the total) now and before."""


@dataclass(frozen=True, slots=True)
class Counted:
    records: int
    parts: tuple[Number, ...]


def open_mirror(path: str) -> sqlite3.Connection:
    connection = sqlite3.connect(f"file:{path}?mode=ro", uri=True, isolation_level=None)
    connection.create_aggregate("median", 1, Median)  # type: ignore[arg-type] # typing knows no aggregate whose result is optional
    return connection


def read_tables(connection: sqlite3.Connection, statements: Sequence[Statement]) -> list[list[tuple[object, ...]]]:
    """All of one moment of the file."""
    connection.execute("BEGIN")
    try:
        return [_fetch(connection, statement) for statement in statements]
    finally:
        connection.execute("COMMIT")


def count_job(connection: sqlite3.Connection, job: Job) -> Findings:
    connection.execute("BEGIN")
    try:
        findings = _count(connection, job)
        if job.per is not None:
            findings = _divide(findings, _count(connection, job.per), job)
        causes = {name: _count_cause(connection, now, before, job) for name, now, before in job.causes}
        left_out = tuple(int(str(count)) for count in _fetch(connection, job.left_out)[0]) if job.left_out else ()
        return replace(findings, causes=causes, left_out=left_out, whole=_count_whole(connection, job))
    finally:
        connection.execute("COMMIT")


def _count_whole(connection: sqlite3.Connection, job: Job) -> Found | None:
    if job.whole is None:
        return None
    nothing = _build_nothing(job)
    now = _fetch_groups(connection, job.whole, 0).get((), nothing)
    before = _fetch_groups(connection, job.whole_before, 0).get((), nothing) if job.whole_before else None
    return _build_found((), now, before, job, has_before=before is not None)


def _fetch(connection: sqlite3.Connection, statement: Statement) -> list[tuple[object, ...]]:
    return connection.execute(statement.sql, dict(statement.values)).fetchall()


def _count(connection: sqlite3.Connection, job: Job) -> Findings:
    now = _fetch_groups(connection, job.groups, job.key_count)
    before = _fetch_groups(connection, job.groups_before, job.key_count) if job.groups_before else None
    total = _fetch_groups(connection, job.total, 0).get((), _build_nothing(job))
    total_before = _fetch_groups(connection, job.total_before, 0).get((), _build_nothing(job)) if job.total_before else None
    return join_groups(job, now, before, total, total_before)


def join_groups(
    job: Job, now: Mapping[Key, Counted], before: Mapping[Key, Counted] | None, total: Counted, total_before: Counted | None
) -> Findings:
    if before is not None and job.axis:
        before = _move_along_axis(before, job)
    keys = list(dict.fromkeys([*now, *(before or ())]))
    if job.key_count == 1 and job.axis_place == 0:
        keys = list(dict.fromkeys([*((key,) for key in job.axis), *keys]))
    keys = list(dict.fromkeys([*keys, *((key,) for key in job.named)]))
    counted = [(key, now.get(key), (before or {}).get(key)) for key in keys if not (job.without_empty and None in key)]
    rows = [_build_found(key, group, earlier, job, has_before=before is not None) for key, group, earlier in counted]
    order = sorted(range(len(rows)), key=lambda place: _rank(rows[place], job))
    first_places, later_places = order[: job.limit], order[job.limit :]
    sums = _build_found((), total, total_before, job, has_before=total_before is not None)
    rest = _join([counted[place] for place in later_places], job, has_before=before is not None) if later_places else None
    return Findings(
        rows=tuple(rows[place] for place in first_places) if job.key_count else (),
        total=sums,
        rest=rest,
        rest_groups=len(later_places),
        groups=len(rows) if job.key_count else 0,
        causes={},
        parts=((total.records, *total.parts), (total_before.records, *total_before.parts) if total_before else ()),
    )


def _fetch_groups(connection: sqlite3.Connection, statement: Statement, key_count: int) -> dict[Key, Counted]:
    groups = {}
    for row in _fetch(connection, statement):
        key = tuple(None if code is None else str(code) for code in row[:key_count])
        groups[key] = Counted(int(str(row[key_count])), row[key_count + 1 :])  # type: ignore[arg-type]
    return groups


def _move_along_axis(before: Mapping[Key, Counted], job: Job) -> dict[Key, Counted]:
    place = job.axis_place or 0
    moved = dict(zip(job.axis_before, job.axis, strict=False))
    return {
        (*key[:place], moved[key[place] or ""], *key[place + 1 :]): counted
        for key, counted in before.items()
        if (key[place] or "") in moved
    }


def _build_nothing(job: Job) -> Counted:
    parts: list[Number] = []
    for combine in job.combines:
        parts += [None] if combine.how in {"max", "alone"} else [0] * combine.width
    return Counted(0, tuple(parts))


def _build_found(key: Key, now: Counted | None, before: Counted | None, job: Job, *, has_before: bool) -> Found:
    nothing = _build_nothing(job)
    now = now or nothing
    earlier = read_numbers((before or nothing).parts, job.combines) if has_before else None
    return Found(key, now.records, read_numbers(now.parts, job.combines), earlier)


def read_numbers(parts: Sequence[Number], combines: Sequence[Combine]) -> tuple[Number, ...]:
    numbers: list[Number] = []
    place = 0
    for combine in combines:
        own = parts[place : place + combine.width]
        place += combine.width
        numbers.append(_read_number(own, combine))
    return tuple(numbers)


def _read_number(parts: Sequence[Number], combine: Combine) -> Number:
    if parts[0] is None:
        return None
    if combine.how == "ratio":
        return parts[0] * combine.scale / parts[1] if parts[1] else None
    return parts[0] if combine.scale == 1 else parts[0] * combine.scale


def _rank(row: Found, job: Job) -> tuple[object, ...]:
    keys = tuple((key is None, _to_rank(key)) for key in row.keys)
    number = row.numbers[job.order_place] if row.numbers else None
    if job.axis_place is not None and job.order_place < 0:
        return (keys[job.axis_place], *keys)
    amount = 0 if number is None else number
    return (number is None, amount if job.is_rising else -amount, keys)


def _to_rank(key: str | None) -> tuple[int, str]:
    """Ids by their number."""
    text = key or ""
    if text == PAST:
        return -1, ""
    return (int(text), "") if text.isdecimal() and len(text) < 15 else (10**15, text)  # noqa: PLR2004 - longer than any id


def _join(counted: Sequence[tuple[Key, Counted | None, Counted | None]], job: Job, *, has_before: bool) -> Found:
    now = _join_parts([group for _, group, _ in counted if group], job)
    before = _join_parts([group for _, _, group in counted if group], job) if has_before else None
    return _build_found((), now, before, job, has_before=has_before)


def _join_parts(groups: Sequence[Counted], job: Job) -> Counted:
    parts: list[Number] = []
    place = 0
    for combine in job.combines:
        for column in range(place, place + combine.width):
            numbers = [number for group in groups if (number := group.parts[column]) is not None]
            if combine.how == "alone":
                parts.append(None)
            elif combine.how == "max":
                parts.append(max(numbers, default=None))
            else:
                parts.append(sum(numbers))
        place += combine.width
    return Counted(sum(group.records for group in groups), tuple(parts))


def _divide(first: Findings, second: Findings, job: Job) -> Findings:
    """Each row gets the first number of the other report, and the quotient."""
    others = {row.keys: row for row in second.rows}
    rows = [_divide_row(row, others.get(row.keys)) for row in first.rows]
    first_keys = {row.keys for row in first.rows}
    rows += [
        _divide_row(replace(row, numbers=(0, *(None for _ in first.total.numbers[1:])), records=0), row)
        for row in second.rows
        if row.keys not in first_keys
    ]
    return replace(first, rows=tuple(rows[: job.limit]), total=_divide_row(first.total, second.total), groups=len(rows))


def _divide_row(row: Found, divisor: Found | None) -> Found:
    upper, lower = row.numbers[0], (divisor.numbers[0] if divisor else 0) or 0
    quotient = upper / lower if upper is not None and lower else None
    return Found(row.keys, row.records, (upper, lower, quotient))


def _count_cause(
    connection: sqlite3.Connection, now: Statement, before: Statement, job: Job
) -> tuple[tuple[str | None, Number, Number], ...]:
    now_groups, groups_before = _fetch_groups(connection, now, 1), _fetch_groups(connection, before, 1)
    keys = list(dict.fromkeys([*now_groups, *groups_before]))
    nothing = _build_nothing(job)
    return tuple((key[0], now_groups.get(key, nothing).parts[0], groups_before.get(key, nothing).parts[0]) for key in keys)
