"""`sdelka journal erase PERSON`: deletes what is stored about them and searches for remains."""

import contextlib
import getpass
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

import typer
from filelock import FileLock, Timeout

from bitrix.masking import mask
from bot.access.access import load_access
from bot.cli.ops import escape_text, open_database_writer, write_json_lines, write_table
from bot.settings.loading import load_settings
from bot.settings.settings import Settings
from orchestrator.domain.errors import SettingsError
from orchestrator.reports.erasure.erase import (
    ErasureFiles,
    ErasureResult,
    PersonSurvey,
    erase_person,
    find_candidates,
    find_similar,
    inspect_person,
    list_people,
)
from state.audit_log.records import find_log_owner
from state.clock import SystemClock
from state.journal.store import StoreError
from state.sql import open_reader
from state.sql.store import SqlStore
from state.verify.database import find_sqlite_path

ALL_GONE, REMAINS, REFUSED = 0, 1, 3
_INCOMPLETE = "not erased, or not wholly: {why}; run the command again"
_MAX_LISTED = 20
"""People named in an error."""


def erase(person: str, *, yes: bool, force: bool, listed: bool, as_json: bool) -> None:
    settings = load_settings()
    _check_schema(settings)
    with _lock_database(settings), open_database_writer(settings, failed=_INCOMPLETE) as store:
        if listed:
            raise typer.Exit(_write_erased(store, as_json=as_json))
        name_of = _build_name_lookup(settings)
        place = _build_place(settings)
        key = _resolve_person(store, person, place, name_of, yes=yes)
        survey = _collect_survey(store, key, place, name_of(key), as_json=as_json)
        if not survey.empty:  # empty: only the rest of an interrupted erasure is left to do
            _ask_confirmation(survey, yes=yes, force=force)
        raise typer.Exit(_erase_person(store, survey, place, as_json=as_json))


def _collect_survey(store: SqlStore, key: str, place: ErasureFiles, name: str, *, as_json: bool) -> PersonSurvey:
    person_survey = inspect_person(store, key, place, name=name)
    _write_survey(person_survey, as_json=as_json)
    return person_survey


def _ask_confirmation(person_survey: PersonSurvey, *, yes: bool, force: bool) -> None:
    """Exit code REFUSED for another key, and for open cards or waiting inputs without `force`. `yes` skips the question."""
    if person_survey.obstacles and not force:
        _write_line("Refused: decide these first (or wait for them), or give --force to withdraw them.")
        raise typer.Exit(REFUSED)
    warning = f"This cannot be undone. Type {person_survey.person} to erase them"
    if not yes and typer.prompt(warning, default="", show_default=False, err=True) != person_survey.person:
        _write_line("Nothing was changed.")
        raise typer.Exit(REFUSED)


def _erase_person(store: SqlStore, person_survey: PersonSurvey, place: ErasureFiles, *, as_json: bool) -> int:
    done = erase_person(store, person_survey, place, now=SystemClock().now(), by=f"cli:{getpass.getuser()}")
    _write_erasure(done, person_survey, as_json=as_json)
    return REMAINS if done.remains or done.unproven_reasons else ALL_GONE


def _check_schema(settings: Settings) -> None:
    """Erasing neither creates nor upgrades a database: SettingsError."""
    url = settings.database.get_secret_value()
    path = find_sqlite_path(url)
    if path is not None and not path.is_file():
        raise SettingsError(f"there is no database {path}: check STATE_DIR; nothing was changed")
    try:
        open_reader(url).close()
    except StoreError as error:
        raise SettingsError(f"the database cannot be opened: {mask(str(error))}; nothing was changed") from None


@contextlib.contextmanager
def _lock_database(settings: Settings) -> Iterator[None]:
    """Exit code REFUSED if a bot uses it. One on a server is not locked: bots then load their sessions anew."""
    if settings.database_url is not None:
        yield
        return
    lock = FileLock(settings.state_dir / "sdelka.lock", timeout=0)
    try:
        lock.acquire()
    except Timeout:
        _write_line(f"Refused: the bot works with STATE_DIR {settings.state_dir}: stop it first.")
        raise typer.Exit(REFUSED) from None
    try:
        yield
    finally:
        lock.release()


def _resolve_person(store: SqlStore, who: str, place: ErasureFiles, name_of: Callable[[str], str], *, yes: bool) -> str:
    """By key, Telegram id or name; a part of a name only without `yes`. Raises SettingsError for none or several."""
    if not who:
        raise SettingsError("say who: a key (tg:7), a Telegram id or a name; --list shows who was erased so far")
    people = list_people(store, place, name_of)
    candidates = find_candidates(people, who)
    if not candidates and (owner := find_log_owner(who)) != who and owner in people:
        raise SettingsError(f"{who!r} is a user of the token {owner}, and what its users said is under the token's key: erase {owner}")
    if not candidates and (close := find_similar(people, who)):
        if yes:
            raise SettingsError(f"nobody is called {who!r}; --yes takes a whole name or a key: {_format_people(people, close)}")
        candidates = close
    if not candidates:
        raise SettingsError(f"nobody is called {who!r}; people known: {_format_people(people, sorted(people))}")
    if len(candidates) > 1:
        raise SettingsError(f"{who!r} may be {_format_people(people, candidates)}: give the key")
    return candidates[0]


def _format_people(people: Mapping[str, Collection[str]], keys: Sequence[str]) -> str:
    labels = [f"{', '.join(sorted(people[key]))} ({key})" if people[key] else key for key in keys[:_MAX_LISTED]]
    return escape_text(", ".join(labels) + (" …" if len(keys) > _MAX_LISTED else "")) or "nobody"


def _build_name_lookup(settings: Settings) -> Callable[[str], str]:
    """From the access file; "" for who is not in it."""
    access = load_access(settings.access_file)

    def name_of(key: str) -> str:
        kind, _, number = key.partition(":")
        actor = access.find_actor(int(number)) if kind == "tg" and number.isdecimal() else None
        return actor.name if actor else ""

    return name_of


def _build_place(settings: Settings) -> ErasureFiles:
    embedded = settings.database_url is None
    files = tuple(sorted(settings.state_dir.rglob("*"))) if embedded else ()
    return ErasureFiles(logs=settings.log_dir, files=files, mirrors=settings.state_dir)


def _write_erased(store: SqlStore, *, as_json: bool) -> int:
    known = store.open_erasure().list_keys()
    gone = [row for row in known if row.erased_at]
    if as_json:
        write_json_lines([{"person": row.person, "erased_at": row.erased_at, "key_id": row.key_id} for row in gone])
    else:
        write_table(["person", "erased at", "key"], [[row.person, row.erased_at, row.key_id] for row in gone])
    damaged = [row for row in known if row.damage]
    for row in damaged:
        _write_line(f"The row of key {row.key_id} ({row.person}) is damaged ({row.damage}): who was erased may be incomplete.")
    return REMAINS if damaged else ALL_GONE


def _write_survey(survey: PersonSurvey, *, as_json: bool) -> None:
    if as_json:
        facts: dict[str, object] = {"rows": dict(survey.rows), "log_records": survey.log_records, "in_clear": survey.in_clear}
        write_json_lines([{"kind": "found", "person": survey.person, "names": survey.names, **facts, "obstacles": survey.obstacles}])
        return
    aliases = f" ({', '.join(survey.names)})" if survey.names else ""
    counts = [*sorted(survey.rows.items()), *([("audit log", survey.log_records)] if survey.log_records else [])]
    if survey.empty:
        _write_line(f"Nothing is stored of {survey.person}{aliases}.")
        return
    write_table(["where", "records"], counts, title=escape_text(f"{survey.person}{aliases}"))
    if survey.unknown:
        _write_line("The journal holds nothing of this person, only their audit log is here: is this their database?")
    for obstacle in survey.obstacles:
        _write_line(f"Open: {obstacle}")
    if survey.in_clear:
        _write_line(f"In clear: {survey.in_clear} records are from before records were sealed. They stay readable, see docs/erasure.md.")


def _write_erasure(done: ErasureResult, person_survey: PersonSurvey, *, as_json: bool) -> None:
    if as_json:
        counts = {"removed": dict(done.removed), "rewritten_logs": dict(done.rewritten), "searched": len(done.searched)}
        proof = {
            "kept": dict(done.kept),
            "remains": len(done.remains),
            "held_by_others": len(done.held_by_others),
            "proven": not (done.remains or done.unproven_reasons),
        }
        write_json_lines([{"kind": "erased", "person": done.person, **counts, **proof, "unproven": done.unproven_reasons}])
        write_json_lines(
            [
                {"kind": kind, "place": trace.place, "owner": trace.owner, "text": trace.text}
                for kind, traces in (("remains", done.remains), ("held", done.held_by_others))
                for trace in traces
            ]
        )
        return
    write_table(["where", "erased"], sorted(done.removed.items()))
    for user, count in sorted(done.rewritten.items()):
        _write_line(f"Audit log of {user}: the person was taken out of {count} records.")
    if done.kept:
        places = ", ".join(f"{name} {count:,}" for name, count in sorted(done.kept.items()))
        _write_line(f"{done.person} itself stays as who acted: {places}.")
    searched = f"searched every row and file for the secrets of their keys, for {', '.join(done.searched)}"
    if done.remains:
        write_table(["still found in", "what"], [[trace.place, trace.text] for trace in done.remains])
        why = [f"{len(done.remains)} places should be empty", *done.unproven_reasons]
        _write_line(f"Not proven: {searched}; {'; '.join(why)}.")
    elif done.unproven_reasons:
        _write_line(f"Not proven: {searched}; {'; '.join(done.unproven_reasons)}.")
    else:
        _write_line(f"Proven: {searched}, and found none of them in anything of {done.person} but the key that stays.")
    if done.held_by_others:
        _write_line(
            f"{len(done.held_by_others)} records of other people hold the same names;"
            " they are theirs and were left alone (--json lists them)."
        )
    if person_survey.names:
        _write_line("Take the person out of ACCESS_FILE too, if they are listed there.")


def _write_line(line: str) -> None:
    typer.echo(escape_text(line), err=True)
