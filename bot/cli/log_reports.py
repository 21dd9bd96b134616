"""What `sdelka logs` shows: whether the audit logs are as the journal tells, their records, and what comes."""

import time
from collections import deque
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path

import typer
from pydantic import AliasPath, Field

from bot.cli.ops import escape_text, open_database_reader, write_json_lines, write_table
from bot.settings.loading import load_settings
from orchestrator.domain.errors import SettingsError
from orchestrator.domain.frozen import View
from orchestrator.reports.erasure.erase import find_candidates, find_similar
from orchestrator.reports.erasure.trace_search import find_log_names
from orchestrator.reports.log_rebuild.verify import verify_logs
from state.audit_log.archives import list_logs
from state.audit_log.follower import Follower
from state.audit_log.interaction_log import DamagedArchive, list_logs_of, list_users, read_records
from state.audit_log.records import build_file_name, build_log_path, find_log_owner, is_log_of
from state.events.codec import UnknownEvent
from state.journal.store import StoreError
from state.stored import JsonObject

POLL_SECONDS = 0.5
_SHORTEST_TRACE = 8
"""Number of characters of a trace id that a person is shown when a request fails; fewer are not accepted by --trace."""


class LogRecord(View):
    """A record of an audit log, with the fields that the commands show; a field that its type of record does not have is empty."""

    type: object = ""
    timestamp: object = ""
    user: object = ""
    session: object = ""
    trace_id: object = ""
    turn_id: object = ""
    user_message: object = ""
    via: object = ""
    run: object = ""
    node: object = ""
    what: object = ""
    errors: Sequence[object] = ()
    changed: object = None
    dropped: object = None
    decider: object = Field("", validation_alias=AliasPath("decided_by", "name"))
    decider_key: object = Field("", validation_alias=AliasPath("decided_by", "key"))
    executed_actions: Sequence[JsonObject] | None = ()

    @property
    def trace(self) -> str:
        """The trace id, which leads back to the input that caused the record. In older records the turn id serves as the trace id."""
        return str(self.trace_id or self.turn_id or "")

    @property
    def calls(self) -> list[str]:
        """The portal calls of the record, each as "method → status"."""
        return [f"{call.get('method', '')} → {call.get('status', '')}" for call in self.executed_actions or ()]

    @property
    def request(self) -> str:
        """What the person asked for or decided; for other types of records, what happened. It is shown in the column "asked"."""
        match self.type:
            case "trouble":
                return "; ".join(map(str, self.errors))
            case "rewritten":
                return f"rewritten: {self.changed} records changed, {self.dropped} removed"
            case "decision":
                return f"{self.decider or self.decider_key}: {self.user_message} ({self.via})"
            case "node":
                return f"{self.run}, node {self.node}: {self.what}"
            case _:
                return str(self.user_message)


def verify_audit_logs(user: str, *, as_json: bool) -> None:
    """Write the findings about the logs of `user` ("" for all), and exit with code 1 if there is one that is more than a note."""
    folder = _find_folder()
    with open_database_reader() as store:
        try:
            meant = _resolve_person(folder, user) if user else ""
            findings = list(verify_logs(store, folder, meant, now=datetime.now(UTC)))
        except (StoreError, UnknownEvent) as error:
            raise SettingsError(f"the journal cannot be read to its end: run `sdelka journal verify` ({error})") from None
    rows = [{**vars(finding), "file": str(folder / finding.file) if finding.file else ""} for finding in findings]
    if as_json:
        write_json_lines(rows)
    elif rows:
        cells = [[row[name] or "" for name in ("kind", "place", "file", "seq", "why")] for row in rows]
        write_table(("what", "whose log", "file", "line", "why"), cells)
    else:
        typer.echo(f"The audit logs in {escape_text(str(folder))} are whole.")
    if any(finding.kind != "note" for finding in findings):
        raise typer.Exit(1)


def show_person(user: str, last: int, *, as_json: bool) -> None:
    """Write the last records of a person."""
    folder = _find_folder()
    person = _resolve_person(folder, user)
    try:
        newest = [record for each in _list_logs_of(folder, user) for record in deque(read_records(folder, each), maxlen=last)]
    except DamagedArchive as error:
        _tell_damage(error, person)
        raise typer.Exit(1) from None
    records = sorted(newest, key=lambda record: str(record.get("timestamp")))[-last:]
    if as_json:
        write_json_lines(records)
    else:
        cells = [_build_cells(LogRecord.model_validate(record)) for record in records]
        write_table(("time", "type", "asked", "calls"), cells, title=escape_text(person))


def show_newest(user: str, *, last: int, follow: bool, as_json: bool) -> None:
    """Write the last records of each log and, if `follow`, every new one until the keyboard stops it."""
    folder = _find_folder()
    try:
        for record in _watch_logs(folder, _resolve_person(folder, user) if user else "", last=last, follow=follow):
            if as_json:
                write_json_lines([record])
            else:
                typer.echo(_format_line(LogRecord.model_validate(record)))
    except (EOFError, OSError) as error:
        typer.echo(f"{escape_text(str(error))}; `sdelka logs verify` says more.", err=True)
        raise typer.Exit(1) from None


def show_trace(user: str, trace: str, *, as_json: bool) -> None:
    """Write all records that go back to the input with this trace id, or to one whose trace id ends in it."""
    if len(trace) < _SHORTEST_TRACE:
        raise SettingsError(f"--trace {trace!r} is too short: give at least its last {_SHORTEST_TRACE} characters")
    folder = _find_folder()
    found: list[JsonObject] = []
    damaged = False
    for person in _list_logs_of(folder, user) if user else list_users(folder):
        try:
            found += (record for record in read_records(folder, person) if LogRecord.model_validate(record).trace.endswith(trace))
        except DamagedArchive as error:
            damaged = True
            _tell_damage(error, person)
    found.sort(key=lambda record: str(LogRecord.model_validate(record).timestamp))
    if as_json:
        write_json_lines(found)
    elif found:
        entries = [LogRecord.model_validate(record) for record in found]
        cells = [(entry.user, *_build_cells(entry)) for entry in entries]
        write_table(("whose log", "time", "type", "asked", "calls"), cells, title=escape_text(entries[0].trace))
    else:
        typer.echo(escape_text(f"no record of {trace}"), err=True)
    if damaged or not found:
        raise typer.Exit(1)


def _find_folder() -> Path:
    settings = load_settings()
    if not settings.log_dir.is_dir():
        raise SettingsError(f"LOG_DIR {settings.log_dir} does not exist yet: nothing was logged")
    return settings.log_dir


def _tell_damage(error: DamagedArchive, person: str) -> None:
    typer.echo(f"{escape_text(str(error))}; `sdelka logs verify --user {escape_text(person)}` says more.", err=True)


def _resolve_person(folder: Path, user: str) -> str:
    """Return the key of the person whom `user` denotes: a key, Telegram id, log file name or name.

    Raises SettingsError that lists the possible people if there is no such log or if several fit.
    """
    known = list_users(folder)
    for person in [*known, *{find_log_owner(each) for each in known} - {*known}]:
        if user in {person, person.removeprefix("tg:"), build_file_name(person), f"{build_file_name(person)}.jsonl"}:
            return person
    named = _find_by_name(folder, known, user)
    if len(named) == 1:
        return named[0]
    if named:
        raise SettingsError(escape_text(f"{user!r} may be {' or '.join(named)}: give the key"))
    some = ", ".join(known[:10]) or "nobody"
    raise SettingsError(escape_text(f"no audit log of {user!r}; there are logs of {some}{' …' if len(known) > 10 else ''}"))  # noqa: PLR2004 - a line's worth


def _list_logs_of(folder: Path, user: str) -> list[str]:
    """Return the users whose logs are meant by `user`: one person, or a token of the HTTP API with all its users.

    Raises SettingsError as `_resolve_person` does.
    """
    person = _resolve_person(folder, user)
    return list_logs_of(folder, person) or [each for each in list_users(folder) if each == person]


def _find_by_name(folder: Path, known: list[str], name: str) -> list[str]:
    """Return the keys of those people of `known` who have exactly that name in their log records.

    If there are none, return the keys of those whose name contains it. `known` are person keys; `folder` holds their logs.
    """
    people = {person: find_log_names(folder, person) for person in sorted({find_log_owner(each) for each in known})}
    return find_candidates(people, name) or find_similar(people, name)


def _watch_logs(folder: Path, user: str, *, last: int, follow: bool) -> Iterator[JsonObject]:
    """Yield the last `last` records of each audit log and, if `follow`, every new record, also from logs that appear later.

    `user` is the key of the person whose logs are read, for a token of the HTTP API with those of its users; "" means all logs.
    """
    followers: dict[Path, Follower] = {}
    wanted: int | None = last
    own = build_log_path(folder, user)
    try:
        while True:
            for log in [each for each in list_logs(folder) if not user or each == own or is_log_of(each.name, user)]:
                if log not in followers:
                    followers[log] = Follower(log, last=wanted)
                yield from followers[log].poll()
            if not follow:
                return
            time.sleep(POLL_SECONDS)
            wanted = None  # a log that appears later is read from its beginning
    finally:
        for follower in followers.values():
            follower.close()


def _build_cells(entry: LogRecord) -> tuple[object, ...]:
    moment = f"{str(entry.timestamp)[:19]}Z"
    return moment, entry.type, entry.request.replace("\n", " ⏎ "), "\n".join(entry.calls)


def _format_line(entry: LogRecord) -> str:
    moment, kind, asked, _ = _build_cells(entry)
    said = str(asked).replace("\n", " ")
    return escape_text(f"{moment}  {entry.user}  {kind}  {said}  {', '.join(entry.calls)}".rstrip())
