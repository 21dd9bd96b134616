"""The database: whether it opens, is writable and undamaged, its schema, how much work waits; and the company's Mongo. It only reads."""

import os
import stat
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Final

from bitrix.masking import mask
from bot.cli.doctor.findings import Area, Finding
from bot.cli.doctor.portal import compare_clock
from bot.settings.settings import Settings
from orchestrator.domain.errors import SettingsError
from orchestrator.gate.call.policy import Policy, load_policy
from orchestrator.performers.mongo_connection import CAUGHT, MongoConnection, MongoUnusable
from state.clock import SystemClock, parse_iso
from state.journal.store import SWITCH, StoreError
from state.migrations import HEAD
from state.sql.dialect import WrongEncoding
from state.verify.database import OLDER, find_sqlite_path
from state.verify.health import Server, Work, explain_closed, read_schema, read_server, read_value, read_work, run_quick_check

MONGO = Area("mongo")
_OPEN: Final = "Add mongo to `open_kinds` and the names to `mongo_collections` in POLICY_FILE, see docs/mongo.md."


async def check_mongo(settings: Settings, *, within: float) -> AsyncIterator[Finding]:
    """The server has `within` seconds."""
    policy = _load_policy(settings)
    if settings.mongo_url is None:
        if policy is not None and "mongo" in policy.open_kinds:
            yield MONGO.report_warning("MONGO_URL", "The policy opens mongo, and no database is set.", "Set MONGO_URL, see docs/mongo.md.")
        else:
            yield MONGO.report_ok("MONGO_URL", "No database is set, so nothing is read from one or written to one.")
        return
    yield await _check_mongo_server(settings.mongo_url.get_secret_value, within)
    if policy is None:
        return
    if "mongo" not in policy.open_kinds or not policy.mongo_collections:
        yield MONGO.report_warning("collections", "The policy opens none, so every call is refused.", _OPEN)
    else:
        yield MONGO.report_ok("collections", f"The policy opens {', '.join(sorted(policy.mongo_collections))}.")


async def _check_mongo_server(load_url: Callable[[], str], within: float) -> Finding:
    """The driver is loaded only here."""
    connection = MongoConnection(load_url(), call_seconds=within)
    try:
        await connection.check()
    except MongoUnusable as error:
        return MONGO.report_wrong("MONGO_URL", f"{error}.", "See docs/mongo.md.")
    except CAUGHT as error:
        code = getattr(error, "code", None)
        if code in {13, 18}:
            return MONGO.report_wrong("server", "It refuses the name or the password.", "Check user, password and authSource in MONGO_URL.")
        return MONGO.report_wrong(
            "server", f"It does not answer: {type(error).__name__}.", "Check the host in MONGO_URL, and whether it runs."
        )
    finally:
        await connection.close()
    return MONGO.report_ok("server", "It answers.")


def _load_policy(settings: Settings) -> Policy | None:
    """None if it cannot be read, which the check of the files reports."""
    try:
        return load_policy(settings.policy_file)
    except (SettingsError, OSError):
        return None


AREA = Area("database")
_MB: Final = 1_000_000
_CHECK_FOR: Final = 5.0
_LONG: Final = timedelta(minutes=10)
_OLDEST_SERVER: Final = 140_000
_A_PROCESS: Final = 17
_MENDING: Final = "docs/runbook.md, «The database is lost»."


def check_database(settings: Settings) -> Iterable[Finding]:
    url = settings.database.get_secret_value()
    try:
        path = find_sqlite_path(url)
    except Exception:  # noqa: BLE001 - SQLAlchemy's own error would quote the address with its password
        yield AREA.report_wrong(
            "DATABASE_URL", "It is no address of a database.", "Write postgresql://user:password@host:5432/name, see docs/postgresql.md."
        )
        return
    if path is not None and not path.exists():
        yield AREA.report_ok("file", f"{path} does not exist yet: the first start makes it.")
        return
    try:
        if path is not None:
            yield from _check_file(path)
        else:
            yield from _check_server(read_server(url))
        yield from _check_contents(url)
    except WrongEncoding as error:
        yield AREA.report_wrong("encoding", f"It is not used: {error}.", "See docs/postgresql.md.")
    except StoreError as error:
        mending = _MENDING if path is not None else "Check DATABASE_URL, whether the server runs, and pg_hba.conf; see docs/postgresql.md."
        yield AREA.report_wrong("open", f"It cannot be read: {mask(str(error))}.", mending)


def _check_file(path: Path) -> Iterator[Finding]:
    if not os.access(path, os.R_OK | os.W_OK):
        yield AREA.report_wrong(
            "file", f"This user may not read and write {path}.", f"chown it to the user of the bot (now uid {os.getuid()})."
        )
        return
    if path.stat().st_mode & (stat.S_IRWXG | stat.S_IRWXO):
        yield AREA.report_warning("file", f"Other users of this machine can read {path}.", f"chmod 600 {path}")
    problems = run_quick_check(path, _CHECK_FOR)
    size = f"{path.stat().st_size / _MB:,.1f} MB"
    if problems:
        yield AREA.report_wrong(
            "whole", f"It is damaged: {problems[0]}.", f"Stop the bot, run `sdelka journal verify`, restore a backup. {_MENDING}"
        )
    elif problems is None:
        yield AREA.report_ok("whole", f"{size}: too large to check within {_CHECK_FOR:.0f} s; `sdelka journal verify` reads it whole.")
    else:
        yield AREA.report_ok("whole", f"{size}, and SQLite finds nothing wrong with the file.")


def _check_server(server: Server) -> Iterator[Finding]:
    if server.number < _OLDEST_SERVER:
        yield AREA.report_wrong("server", f"It is PostgreSQL {server.version}; 14 or newer is needed.", "Upgrade the server.")
    else:
        yield AREA.report_ok(
            "server",
            f"PostgreSQL {server.version}, {server.size / _MB:,.1f} MB, {server.connections} of {server.most_connections} connections.",
        )
    if server.standby or server.settings.get("default_transaction_read_only") == "on":
        yield AREA.report_wrong(
            "writable", "The server takes no changes: it is a standby, or read-only.", "Set DATABASE_URL to the primary server."
        )
    elif not server.may_write:
        yield AREA.report_wrong(
            "writable", "This role may not write the tables of the bot.", "Make the role owner of the database, see docs/postgresql.md."
        )
    for name in ("fsync", "full_page_writes"):
        if server.settings.get(name) == "off":
            says = f"{name} is off: after a power failure what was promised may be gone, and a call could run twice."
            yield AREA.report_wrong(name, says, f"Set {name} = on in postgresql.conf.")
    if server.most_connections - server.connections < _A_PROCESS:
        says = f"Only {server.most_connections - server.connections} connections are free; a process takes up to {_A_PROCESS}."
        yield AREA.report_warning("connections", says, "Raise max_connections, or stop what holds them (pg_stat_activity).")
    finding = compare_clock(AREA, server.now - SystemClock().now())
    if finding.verdict != "ok":
        yield finding


def _check_contents(url: str) -> Iterator[Finding]:
    schema = read_schema(url)
    if not schema:
        yield AREA.report_ok("schema", "It has no tables yet: the first start makes them.")
        return
    if schema != HEAD:
        older = schema in OLDER
        says = f"It has schema {schema}, this program works with {HEAD}."
        mending = (
            "Make a backup, then start the bot: it upgrades."
            if older
            else "It was written by a newer version: start that one, or restore a backup."
        )
        yield (AREA.report_warning if older else AREA.report_wrong)("schema", says, mending)
        return
    if why := explain_closed(url):
        mending = "Set DATABASE_URL to where it was moved; `sdelka db reopen` takes this one back (docs/backup.md)."
        yield AREA.report_wrong("closed", f"{why}.", mending)
        return
    now = SystemClock().now()
    work = read_work(url, now)
    yield AREA.report_ok("schema", f"Schema {schema}; " + ("a bot is at work on it." if work.held else "no bot is at work on it now."))
    yield _check_queue(work, now)
    if read_value(url, SWITCH):
        says = "All writing to the portal is frozen; `sdelka freeze --status` says by whom and why."
        yield AREA.report_warning("freeze", says, "`sdelka freeze --off` lets it start again.")
    if work.unknown:
        mending = "`sdelka journal show` and docs/runbook.md, «An outcome is unknown»."
        yield AREA.report_warning(
            "unknown outcomes", f"{work.unknown} calls of the last 24 hours: nobody knows whether the portal did them.", mending
        )


def _check_queue(work: Work, now: datetime) -> Finding:
    says = f"{work.waiting} inputs wait, {work.undelivered} messages are to be delivered."
    if work.oldest and now - parse_iso(work.oldest) > _LONG:
        return AREA.report_warning(
            "queue", f"{says} The oldest input waits since {work.oldest[:16]}Z.", "Is the bot running? Its log says what holds it up."
        )
    return AREA.report_ok("queue", says)
