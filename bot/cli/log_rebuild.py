"""From the journal, into a new folder or LOG_DIR; there the old files are kept beside it."""

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path

import typer
from filelock import FileLock, Timeout

from bot.cli.ops import escape_text, open_database_reader, write_json_lines, write_table
from bot.settings.loading import load_settings
from bot.settings.settings import Settings
from orchestrator.domain.errors import SettingsError
from orchestrator.reports.erasure.erase import find_candidates, find_similar
from orchestrator.reports.log_rebuild.rebuild import collect_names, rebuild_logs
from state.audit_log.archives import list_logs
from state.audit_log.interaction_log import find_user
from state.audit_log.log_files import FOLDER_MODE, list_all_files
from state.audit_log.records import build_log_path, find_log_owner
from state.clock import SystemClock
from state.events.codec import UnknownEvent
from state.journal.store import Store, StoreError


def rebuild_audit_logs(user: str, *, to: Path | None, replace: bool, as_json: bool) -> None:
    """ "" is everybody. `replace` needs a stopped bot; else `to`, or a new folder beside LOG_DIR. Raises SettingsError."""
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
