"""The command group `sdelka logs`: checks, shows, follows and rebuilds the audit logs."""

import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from pydantic import AliasPath, Field

from bot.cli.ops import AS_JSON, escape_text, open_database_reader, write_json_lines, write_table
from bot.settings.loading import load_settings
from bot.settings.settings import Settings
from orchestrator.domain.errors import SettingsError
from orchestrator.domain.frozen import View
from state.stored import JsonObject

if TYPE_CHECKING:
    from state.journal.store import Store

app = typer.Typer(no_args_is_help=True, add_completion=False, help="Check, show, follow and rebuild the audit logs.")

POLL_SECONDS = 0.5
_SHORTEST_TRACE = 8
"""Number of characters of a trace id that a person is shown when a request fails; fewer are not accepted by --trace."""
_USER = "The person's key (tg:1007), Telegram id or name; the file's name does as well."
_Json = Annotated[bool, typer.Option("--json", help=AS_JSON)]


class LogRecord(View):
    """A record of an audit log, with the fields that the commands show; a field that its type of record does not have is empty."""

    n: int | str = Field("", validation_alias=AliasPath("chain", "n"))
    """The record's number in its log; "" in a record without a checksum chain."""
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


@app.callback()
def group() -> None:
    """Check, show, follow and rebuild the audit logs."""


@app.command()
def verify(
    user: Annotated[str, typer.Option(help=f"Only this log. {_USER}")] = "",
    *,
    as_json: _Json = False,
) -> None:
    """Check that no record and no archive was changed, cut or removed; show file and byte of each that was.

    Exit codes: 0 = everything is intact (notes do not count as damage), 1 = something is damaged, cut, missing or unreadable, 2 = wrong
    use.
    """
    from state.audit_log.records import build_log_path  # noqa: PLC0415 - only what a command needs is loaded, so that help comes at once
    from state.audit_log.verify import verify_log, verify_logs  # noqa: PLC0415 - see above

    folder = _find_folder()
    if user:
        findings = [finding for each in _list_logs_of(folder, user) for finding in verify_log(build_log_path(folder, each))]
    else:
        findings = list(verify_logs(folder))
    rows = [replace(finding, file=str(folder / finding.file) if finding.file else "") for finding in findings]
    if as_json:
        write_json_lines([vars(row) for row in rows])
    elif findings:
        columns = ("what", "whose log", "record", "file", "byte", "why")
        cells = [(row.kind, row.place, row.seq or "", row.file, "" if row.offset is None else row.offset, row.why) for row in rows]
        write_table(columns, cells)
    else:
        typer.echo(f"The audit logs in {escape_text(str(folder))} are whole.")
    if any(finding.kind != "note" for finding in findings):
        raise typer.Exit(1)


@app.command()
def show(
    user: Annotated[str, typer.Argument(help=f"{_USER} With --trace it may be left out.")] = "",
    last: Annotated[int, typer.Option(min=1, help="So many records.")] = 20,
    trace: Annotated[str, typer.Option(help="Only what goes back to the input with this trace id, or its last 8 characters or more.")] = "",
    *,
    as_json: _Json = False,
) -> None:
    """Show the last records of a person, or all records with a trace id: time, type, what was asked, the calls and their outcomes.

    Exit codes: 0 = shown, 1 = an archive is damaged (see verify), or no record has that trace id, 2 = wrong use.
    """
    if trace:
        _show_trace(user, trace, as_json=as_json)
        return
    if not user:
        raise SettingsError("say whose log is meant, or give --trace")
    from collections import deque  # noqa: PLC0415 - see verify

    from state.audit_log.interaction_log import DamagedArchive, read_records  # noqa: PLC0415 - see verify

    folder = _find_folder()
    person = _resolve_person(folder, user)
    try:
        newest = [record for each in _list_logs_of(folder, user) for record in deque(read_records(folder, each), maxlen=last)]
        records = sorted(newest, key=lambda record: str(record.get("timestamp")))[-last:]
    except DamagedArchive as error:
        typer.echo(f"{escape_text(str(error))}; `sdelka logs verify --user {escape_text(person)}` says more.", err=True)
        raise typer.Exit(1) from None
    if as_json:
        write_json_lines(records)
    else:
        write_table(
            ("n", "time", "type", "asked", "calls"),
            [_build_cells(LogRecord.model_validate(record)) for record in records],
            title=escape_text(person),
        )


def _show_trace(user: str, trace: str, *, as_json: bool) -> None:
    from state.audit_log.interaction_log import DamagedArchive, list_users, read_records  # noqa: PLC0415 - see verify

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
            typer.echo(f"{escape_text(str(error))}; `sdelka logs verify --user {escape_text(person)}` says more.", err=True)
    found.sort(key=lambda record: str(LogRecord.model_validate(record).timestamp))
    if as_json:
        write_json_lines(found)
    elif found:
        entries = [LogRecord.model_validate(record) for record in found]
        cells = [(entry.user, *_build_cells(entry)[1:]) for entry in entries]
        write_table(("whose log", "time", "type", "asked", "calls"), cells, title=escape_text(entries[0].trace))
    else:
        typer.echo(escape_text(f"no record of {trace}"), err=True)
    if damaged or not found:
        raise typer.Exit(1)


@app.command()
def tail(
    user: Annotated[str, typer.Argument(help=f"{_USER} Everybody without it.")] = "",
    *,
    follow: Annotated[bool, typer.Option("-f", "--follow", help="Go on with what comes, until stopped.")] = False,
    last: Annotated[int, typer.Option(min=0, help="So many records of each log first.")] = 10,
    as_json: _Json = False,
) -> None:
    """Show the newest records, and with -f each new one as it is written, also after a log file was archived and a new one begun.

    Exit codes: 0 = done or stopped by the keyboard, 1 = an archive is damaged (see verify), 2 = wrong use.
    """
    from state.audit_log.interaction_log import DamagedArchive  # noqa: PLC0415 - see verify

    folder = _find_folder()
    try:
        for record in _watch_logs(folder, _resolve_person(folder, user) if user else "", last=last, follow=follow):
            if as_json:
                write_json_lines([record])
            else:
                typer.echo(_format_line(LogRecord.model_validate(record)))
    except KeyboardInterrupt:
        raise typer.Exit(0) from None
    except DamagedArchive as error:
        typer.echo(f"{escape_text(str(error))}; `sdelka logs verify` says more.", err=True)
        raise typer.Exit(1) from None


@app.command()
def rebuild(
    user: Annotated[str, typer.Argument(help="The person's key (tg:1007), Telegram id or name. Everybody without it.")] = "",
    to: Annotated[Path | None, typer.Option(help="A new or empty folder; without it one beside the logs.")] = None,
    *,
    replace: Annotated[bool, typer.Option("--replace", help="Put them in place of the logs; the old files are kept beside.")] = False,
    as_json: _Json = False,
) -> None:
    """Write the audit logs anew from the journal, each record marked "rebuilt". Without --replace no existing file is touched.

    --replace works only with the embedded database and while no bot runs; a running bot could write a record a second time. Exit codes: 0 =
    done, 1 = the journal has nobody of that name, 2 = wrong use, or the bot runs.
    """
    from bot.cli.log_rebuild import rebuild_audit_logs  # noqa: PLC0415 - the engine's parser and SQLAlchemy take a while to load

    settings = load_settings()
    if to is not None and replace:
        raise SettingsError("--to and --replace exclude each other")
    with open_database_reader(settings) as store:
        if user:
            user = _resolve_key(store, user)
        folder, counts = rebuild_audit_logs(store, settings, user=user, to=to, replace=replace)
    if user and not counts:
        typer.echo(escape_text(f"The journal tells of no turn and no decision of {user}: no log was written."), err=True)
        raise typer.Exit(1)
    if as_json:
        write_json_lines([{"user": person, "records": count, "folder": str(folder)} for person, count in counts.items()])
    else:
        write_table(("whose log", "records"), list(counts.items()), title=f"rebuilt in {folder}")


def _resolve_key(store: "Store", user: str) -> str:
    """Return the person key ("tg:7") for a key, a Telegram id, or a name that occurs in the journal.

    Anything else is returned unchanged. Raises SettingsError if several people have the name.
    """
    from orchestrator.reports.erasure.erase import find_candidates, find_similar  # noqa: PLC0415 - see verify
    from orchestrator.reports.log_rebuild.rebuild import collect_names  # noqa: PLC0415 - see verify

    people = {key: {name} for key, name in collect_names(store).items()}
    found = find_candidates(people, user) or find_similar(people, user)
    if len(found) > 1:
        raise SettingsError(escape_text(f"{user!r} may be {' or '.join(found)}: give the key"))
    return found[0] if found else f"tg:{user}" if user.isdecimal() else user


def _find_folder() -> Path:
    settings: Settings = load_settings()
    if not settings.log_dir.is_dir():
        raise SettingsError(f"LOG_DIR {settings.log_dir} does not exist yet: nothing was logged")
    return settings.log_dir


def _resolve_person(folder: Path, user: str) -> str:
    """Return the key of the person whom `user` denotes: a key, Telegram id, log file name or name.

    Raises SettingsError that lists the possible people if there is no such log or if several fit.
    """
    from state.audit_log.interaction_log import build_file_name, list_users  # noqa: PLC0415 - see verify
    from state.audit_log.records import find_log_owner  # noqa: PLC0415 - see verify

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
    from state.audit_log.interaction_log import list_logs_of, list_users  # noqa: PLC0415 - see verify

    person = _resolve_person(folder, user)
    return list_logs_of(folder, person) or [each for each in list_users(folder) if each == person]


def _find_by_name(folder: Path, known: list[str], name: str) -> list[str]:
    """Return the keys of those people of `known` who have exactly that name in their log records.

    If there are none, return the keys of those whose name contains it. `known` are person keys; `folder` holds their logs.
    """
    from orchestrator.reports.erasure.erase import find_candidates, find_similar  # noqa: PLC0415 - see verify
    from orchestrator.reports.erasure.trace_search import find_log_names  # noqa: PLC0415 - see verify
    from state.audit_log.records import find_log_owner  # noqa: PLC0415 - see verify

    people = {person: find_log_names(folder, person) for person in sorted({find_log_owner(each) for each in known})}
    return find_candidates(people, name) or find_similar(people, name)


def _watch_logs(folder: Path, user: str, *, last: int, follow: bool) -> Iterator[JsonObject]:
    """Yield the last `last` records of each audit log and, if `follow`, every new record, also from logs that appear later.

    `user` is the key of the person whose logs are read, for a token of the HTTP API with those of its users; "" means all logs.
    """
    from state.audit_log.archives import list_logs  # noqa: PLC0415 - see verify
    from state.audit_log.follower import Follower  # noqa: PLC0415 - see verify
    from state.audit_log.records import build_log_path, is_log_of  # noqa: PLC0415 - see verify

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
    return entry.n, moment, entry.type, entry.request.replace("\n", " ⏎ "), "\n".join(entry.calls)


def _format_line(entry: LogRecord) -> str:
    _, moment, kind, asked, _ = _build_cells(entry)
    said = str(asked).replace("\n", " ")
    return escape_text(f"{moment}  {entry.user}  {kind}  {said}  {', '.join(entry.calls)}".rstrip())
