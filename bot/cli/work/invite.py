"""They store inputs, which a running bot takes up within a second."""

import asyncio
import getpass
import sys
from collections.abc import Iterator
from datetime import datetime

import typer

from bot.access.access import Access, load_access
from bot.access.invitations import EmployeeUnfit, build_invitation, build_removal, fetch_bot_name, fetch_invited_name
from bot.cli.ops import escape_text, open_database_reader, open_database_writer, write_json_lines, write_table
from bot.settings.faults import check_required
from bot.settings.loading import load_settings
from bot.settings.settings import Settings
from orchestrator.domain.actor import Role
from orchestrator.domain.errors import SettingsError
from orchestrator.features.people.registry import STREAM, extract_registry
from state.clock import SystemClock, format_iso, parse_iso
from state.events.codec import UnknownEvent
from state.events.people import build_invitation_key
from state.journal.journal import load_state
from state.journal.store import InboxRow, StoreError
from state.model.registry import Registry
from state.sql.store import SqlStore
from state.stored import JsonObject

NOBODY = 1


def invite(*, bitrix_user: int, role: Role, name: str, hours: int, second_account: bool, as_json: bool) -> None:
    settings = load_settings()
    check_required(settings, "telegram_bot_token")
    if not second_account:
        _refuse_second(settings, bitrix_user)
    with open_database_writer(settings) as store:
        bot = fetch_bot_name(settings)
        employee_name = _fetch_employee_name(settings, bitrix_user, name.strip())
        invitation = build_invitation(
            bot, bitrix_user, role, employee_name, hours=hours, now=_read_clock(), actor=_build_actor(), door="cli"
        )
        _store_row(store, invitation.row)
    if as_json:
        write_json_lines(
            [
                {
                    "link": invitation.link,
                    "expires_at": format_iso(invitation.expires_at),
                    "bitrix_user_id": bitrix_user,
                    "role": role,
                    "name": employee_name,
                }
            ]
        )
        return
    sys.stdout.write(f"{invitation.link}\n")
    sys.stdout.flush()  # the link must come before what is said about it
    whom = f"{employee_name} (employee {bitrix_user})" if employee_name else f"employee {bitrix_user}"
    _write_line(f"For {whom}, role {role}. Works once, until {_format_moment(format_iso(invitation.expires_at))}. It is not shown again.")


def _refuse_second(settings: Settings, user_id: int) -> None:
    access = load_access(settings.access_file)
    access.apply_registry(_load_registry(settings), 0)
    if holders := [key for key, number in access.map_employees().items() if number == user_id]:
        who = ", ".join(f"{key}, {access.find_name(key)}" for key in holders)
        raise SettingsError(
            f"employee {user_id} has access already ({escape_text(who)}): give --second-account to let in one more Telegram account "
            "as the same employee; nothing was changed"
        )


def list_access(context: typer.Context, *, as_json: bool) -> None:
    if context.invoked_subcommand is not None:
        return

    settings = load_settings()
    access = load_access(settings.access_file)
    registry = _load_registry(settings)
    access.apply_registry(registry, 0)
    rows = [*_build_people_rows(access, registry), *_build_invitation_rows(registry, SystemClock().now())]
    if as_json:
        write_json_lines(rows)
        return
    columns = ("key", "name", "role", "employee", "listed by", "access")
    write_table(columns, [[row[name] for name in columns] for row in rows])


def remove(key: str) -> None:
    settings = load_settings()
    access, registry = load_access(settings.access_file), _load_registry(settings)
    key = f"tg:{key}" if key.isascii() and key.isdecimal() else key
    if key not in registry.people and key not in map(build_invitation_key, registry.invited):
        if access.is_fixed(key):
            raise SettingsError(
                f"{key} stands in ACCESS_FILE: take them out there, a running bot follows within seconds; nothing was changed"
            )
        _write_line(f"Nobody has the key {key}: `sdelka people` shows them all.")
        raise typer.Exit(NOBODY)
    with open_database_writer(settings) as store:
        _store_row(store, build_removal(key, now=_read_clock(), actor=_build_actor(), door="cli"))
    _write_line(f"Noted: {key} loses access within a second if the bot runs, else at its next start.")


def _build_people_rows(access: Access, registry: Registry) -> Iterator[dict[str, object]]:
    """Of the access file, and who joined by invitation."""
    present = {actor.key: actor for actor in access.list_people()}
    for key, person in access.map_listed().items():
        by = "ACCESS_FILE" if access.is_fixed(key) else registry.people[key].by
        state = "yes" if key in present else f"no: dismissed in Bitrix24 (seen {_format_moment(registry.out[key])})"
        employee = "" if person.bitrix_user_id is None else person.bitrix_user_id
        yield {"key": key, "name": person.name, "role": person.role, "employee": employee, "listed by": by, "access": state}


def _build_invitation_rows(registry: Registry, now: datetime) -> Iterator[dict[str, object]]:

    for mark, item in registry.invited.items():
        state = f"link open until {_format_moment(item.expires_at)}" if now < parse_iso(item.expires_at) else "link expired"
        who = {"name": "", "role": item.role, "employee": item.bitrix_user_id}
        yield {"key": build_invitation_key(mark), **who, "listed by": item.by, "access": state}


def _load_registry(settings: Settings) -> Registry:

    with open_database_reader(settings) as store:
        try:
            return extract_registry(load_state(store, STREAM)[0])
        except (StoreError, UnknownEvent) as error:
            raise SettingsError(f"the registry of people cannot be read: {error}") from None


def _fetch_employee_name(settings: Settings, user_id: int, fallback: str) -> str:
    """Else the portal's; "" possible if it is not reached. Raises SettingsError for unknown and dismissed employees."""
    try:
        name, trouble = asyncio.run(fetch_invited_name(settings, user_id, fallback))
    except EmployeeUnfit as error:
        if error.code == "unknown":
            raise SettingsError(f"Bitrix24 has no employee {user_id}; nothing was changed") from None
        raise SettingsError(f"employee {user_id} ({escape_text(error.name)}) was dismissed in Bitrix24; nothing was changed") from None
    if trouble:
        _write_line(f"Bitrix24 could not be asked about employee {user_id} ({trouble}): the link is made without.")
    return name


def _build_actor() -> JsonObject:
    user = getpass.getuser()
    return {"key": f"cli:{user}", "name": user}


def _store_row(store: SqlStore, row: InboxRow) -> None:
    store.put_inbox([row])


def _read_clock() -> datetime:

    return SystemClock().now()


def _format_moment(ts: str) -> str:
    """Such as "2026-11-21 12:00Z", "" for an empty one."""
    return f"{ts[:16].replace('T', ' ')}Z" if ts else ""


def _write_line(line: str) -> None:
    typer.echo(escape_text(line), err=True)
