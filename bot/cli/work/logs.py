"""Checks, shows, follows and rebuilds the audit logs."""

import time
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from datetime import UTC, datetime
from pathlib import Path

import typer
from filelock import FileLock, Timeout
from pydantic import AliasPath, Field

from bot.cli.ops import escape_text, open_database_reader, write_json_lines, write_table
from bot.settings.loading import load_settings
from bot.settings.settings import Settings
from orchestrator.domain.errors import SettingsError
from orchestrator.domain.frozen import View
from orchestrator.reports.erasure.erase import find_candidates, find_similar
from orchestrator.reports.erasure.trace_search import find_log_names
from orchestrator.reports.log_rebuild.rebuild import collect_names, rebuild_logs
from orchestrator.reports.log_rebuild.verify import verify_logs
from state.audit_log.archives import list_logs
from state.audit_log.interaction_log import DamagedArchive, Follower, find_user, list_logs_of, list_users, read_records
from state.audit_log.log_files import FOLDER_MODE, list_all_files
from state.audit_log.records import build_file_name, build_log_path, find_log_owner, is_log_of
from state.clock import SystemClock
from state.events.codec import UnknownEvent
from state.journal.store import Store, StoreError
from state.stored import JsonObject


def rebuild(user: str, to: Path | None, *, replace: bool, as_json: bool) -> None:
    """ "" is everybody. `replace` needs a stopped bot; else `to`, or a new folder beside LOG_DIR, where the old files are kept."""
    if to is not None and replace:
        raise SettingsError("--to and --replace exclude each other")
    settings = load_settings()
    stamp = SystemClock().now().strftime("%Y%m%dT%H%M%SZ")
    folder = to or settings.log_dir.with_name(f"{settings.log_dir.name}-rebuilt-{stamp}")
    with open_database_reader(settings) as store:
        user = _resolve_key(store, user) if user else ""
        with _lock_database(settings) if replace else nullcontext():
            counts = _write_logs(store, folder, user)
            if replace and counts:
                _swap_folders(folder, settings.log_dir, settings.log_dir.with_name(f"{settings.log_dir.name}-replaced-{stamp}"))
                folder = settings.log_dir
    if user and not counts:
        typer.echo(escape_text(f"The journal tells of no turn and no decision of {user}: no log was written."), err=True)
        raise typer.Exit(1)
    if as_json:
        write_json_lines([{"user": person, "records": count, "folder": str(folder)} for person, count in counts.items()])
    else:
        write_table(("whose log", "records"), list(counts.items()), title=f"rebuilt in {folder}")


def _resolve_key(store: Store, user: str) -> str:
    """Of a key, a Telegram id or a name; else the text. Raises SettingsError if several people have the name."""
    people = {key: {name} for key, name in collect_names(store).items()}
    candidates = find_candidates(people, user) or find_similar(people, user)
    if len(candidates) > 1:
        raise SettingsError(escape_text(f"{user!r} may be {' or '.join(candidates)}: give the key"))
    return candidates[0] if candidates else f"tg:{user}" if user.isdecimal() else user


def _write_logs(store: Store, folder: Path, user: str) -> dict[str, int]:
    try:
        return rebuild_logs(store, folder, user=user)
    except FileExistsError as error:
        raise SettingsError(f"--to: {error}; rebuilt logs go into a new or an empty folder") from None
    except (StoreError, UnknownEvent) as error:
        raise SettingsError(
            f"the journal cannot be read to its end, so {folder} is not whole: run `sdelka journal verify` ({error})"
        ) from None


@contextmanager
def _lock_database(settings: Settings) -> Iterator[None]:
    """No bot can start meanwhile. Raises SettingsError if one runs, or for a database on a server."""
    if settings.database_url is not None:
        raise SettingsError(
            "--replace cannot tell whether bots run on DATABASE_URL: rebuild with --to, stop them, and exchange the folders"
        )
    try:
        with FileLock(settings.state_dir / "sdelka.lock", timeout=0):
            yield
    except Timeout:
        raise SettingsError("--replace is refused while the bot runs: stop it first, or rebuild with --to") from None


def _swap_folders(new: Path, live: Path, old: Path) -> None:
    """`live` into `old`, then `new` into `live`. A crash in between loses no file."""
    live.mkdir(FOLDER_MODE, parents=True, exist_ok=True)
    old.mkdir(FOLDER_MODE)
    replaced = {live / log.name for log in list_logs(new)}
    # A token's own log holds what its users did before each of them had a log: it is written anew with theirs.
    replaced |= {build_log_path(live, find_log_owner(find_user(log))) for log in list_logs(new)}
    for log in sorted(replaced):
        for path in list_all_files(log):
            path.rename(old / path.name)
    for path in sorted(new.iterdir()):
        path.rename(live / path.name)
    new.rmdir()


POLL_SECONDS = 0.5
_SHORTEST_TRACE = 8
"""Signs of a trace id that a person is shown when a request fails."""


class LogRecord(View):
    """Fields that its type does not have are empty."""

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
        """In older records the turn id."""
        return str(self.trace_id or self.turn_id or "")

    @property
    def calls(self) -> list[str]:
        return [f"{call.get('method', '')} → {call.get('status', '')}" for call in self.executed_actions or ()]

    @property
    def request(self) -> str:
        """What the person asked or decided, else what happened: the column "asked"."""
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


def verify(user: str, *, as_json: bool) -> None:
    """ "" for all. Exit code 1 for a finding that is more than a note."""
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


def show(user: str, last: int, trace: str, *, as_json: bool) -> None:
    if trace:
        _show_trace(user, trace, as_json=as_json)
    elif user:
        _show_person(user, last, as_json=as_json)
    else:
        raise SettingsError("say whose log is meant, or give --trace")


def _show_person(user: str, last: int, *, as_json: bool) -> None:
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


def tail(user: str, *, follow: bool, last: int, as_json: bool) -> None:
    """`follow` until the keyboard stops it."""
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
    except KeyboardInterrupt:
        raise typer.Exit(0) from None


def _show_trace(user: str, trace: str, *, as_json: bool) -> None:
    """By the whole id or its end."""
    if len(trace) < _SHORTEST_TRACE:
        raise SettingsError(f"--trace {trace!r} is too short: give at least its last {_SHORTEST_TRACE} characters")
    folder = _find_folder()
    records: list[JsonObject] = []
    damaged = False
    for person in _list_logs_of(folder, user) if user else list_users(folder):
        try:
            records += (record for record in read_records(folder, person) if LogRecord.model_validate(record).trace.endswith(trace))
        except DamagedArchive as error:
            damaged = True
            _tell_damage(error, person)
    records.sort(key=lambda record: str(LogRecord.model_validate(record).timestamp))
    if as_json:
        write_json_lines(records)
    elif records:
        entries = [LogRecord.model_validate(record) for record in records]
        cells = [(entry.user, *_build_cells(entry)) for entry in entries]
        write_table(("whose log", "time", "type", "asked", "calls"), cells, title=escape_text(entries[0].trace))
    else:
        typer.echo(escape_text(f"no record of {trace}"), err=True)
    if damaged or not records:
        raise typer.Exit(1)


def _find_folder() -> Path:
    settings = load_settings()
    if not settings.log_dir.is_dir():
        raise SettingsError(f"LOG_DIR {settings.log_dir} does not exist yet: nothing was logged")
    return settings.log_dir


def _tell_damage(error: DamagedArchive, person: str) -> None:
    typer.echo(f"{escape_text(str(error))}; `sdelka logs verify --user {escape_text(person)}` says more.", err=True)


def _resolve_person(folder: Path, user: str) -> str:
    """By key, Telegram id, log file or name. Raises SettingsError for none or several."""
    known = list_users(folder)
    for person in [*known, *{find_log_owner(each) for each in known} - {*known}]:
        if user in {person, person.removeprefix("tg:"), build_file_name(person), f"{build_file_name(person)}.jsonl"}:
            return person
    matches = _find_by_name(folder, known, user)
    if len(matches) == 1:
        return matches[0]
    if matches:
        raise SettingsError(escape_text(f"{user!r} may be {' or '.join(matches)}: give the key"))
    some = ", ".join(known[:10]) or "nobody"
    raise SettingsError(escape_text(f"no audit log of {user!r}; there are logs of {some}{' …' if len(known) > 10 else ''}"))  # noqa: PLR2004 - a line's worth


def _list_logs_of(folder: Path, user: str) -> list[str]:
    """One person, or a token of the HTTP API with all its users. Raises SettingsError."""
    person = _resolve_person(folder, user)
    return list_logs_of(folder, person) or [each for each in list_users(folder) if each == person]


def _find_by_name(folder: Path, known: list[str], name: str) -> list[str]:
    """Of `known`; those who contain the name if none has exactly it."""
    people = {person: find_log_names(folder, person) for person in sorted({find_log_owner(each) for each in known})}
    return find_candidates(people, name) or find_similar(people, name)


def _watch_logs(folder: Path, user: str, *, last: int, follow: bool) -> Iterator[JsonObject]:
    """`follow` waits for new records, also of new logs. "" means all; a token includes its users."""
    followers: dict[Path, Follower] = {}
    limit: int | None = last
    own = build_log_path(folder, user)
    try:
        while True:
            for log in [each for each in list_logs(folder) if not user or each == own or is_log_of(each.name, user)]:
                if log not in followers:
                    followers[log] = Follower(log, last=limit)
                yield from followers[log].poll()
            if not follow:
                return
            time.sleep(POLL_SECONDS)
            limit = None  # a log that appears later is read from its beginning
    finally:
        for follower in followers.values():
            follower.close()


def _build_cells(entry: LogRecord) -> tuple[object, ...]:
    moment = f"{str(entry.timestamp)[:19]}Z"
    return moment, entry.type, entry.request.replace("\n", " ⏎ "), "\n".join(entry.calls)


def _format_line(entry: LogRecord) -> str:
    moment, kind, request, _ = _build_cells(entry)
    line = str(request).replace("\n", " ")
    return escape_text(f"{moment}  {entry.user}  {kind}  {line}  {', '.join(entry.calls)}".rstrip())
