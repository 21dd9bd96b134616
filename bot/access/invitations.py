"""Inbox rows that invite people and end access. The token stands in the link only; the row holds a fingerprint."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

import httpx

from bitrix.errors import BitrixError
from bitrix.masking import mask
from bot.access.portal_auth import fetch_employee
from bot.settings.settings import Settings
from orchestrator.directory.reference import is_employed
from orchestrator.domain.actor import Role
from orchestrator.domain.errors import SettingsError
from orchestrator.domain.inputs import AccessEnd
from orchestrator.features.people.registry import build_proof, create_token, seal_name
from orchestrator.language.text import to_visible_line
from state.clock import format_iso, generate_id
from state.journal.store import InboxRow
from state.model.registry import SESSION
from state.stored import JsonObject

LONGEST_NAME: Final = 60
_PATIENCE: Final = 10.0
INVITE: Final = "invite"
REMOVE: Final = "person_removed"


@dataclass(frozen=True, kw_only=True)
class MadeInvitation:
    """The link is shown once and stored nowhere."""

    link: str
    row: InboxRow
    expires_at: datetime


class EmployeeUnfit(Exception):
    """`code` is "unknown" or "dismissed"."""

    def __init__(self, code: str, name: str = "") -> None:
        super().__init__(code)
        self.code, self.name = code, name


def build_invitation(  # noqa: PLR0913 - what a link is made of
    bot: str, user_id: int, role: Role, name: str, *, hours: int, now: datetime, actor: JsonObject, door: str
) -> MadeInvitation:
    """`bot` is its username, `actor` who invites."""
    token, expires_at = create_token(), now + timedelta(hours=hours)
    proof = build_proof(token)
    body = {
        "fingerprint": proof.fingerprint,
        "bitrix_user_id": user_id,
        "role": role,
        "sealed_name": seal_name(name, proof),
        "expires_at": format_iso(expires_at),
    }
    row = build_people_row(INVITE, body, now=now, actor=actor, door=door)
    return MadeInvitation(link=f"https://t.me/{bot}?start={token}", row=row, expires_at=expires_at)


def build_removal(person: str, *, now: datetime, actor: JsonObject, door: str) -> InboxRow:
    """`person` may be an open link too."""
    return build_people_row(REMOVE, AccessEnd(person=person).to_json(), now=now, actor=actor, door=door)


def build_people_row(kind: str, body: Mapping[str, object], *, now: datetime, actor: JsonObject, door: str) -> InboxRow:
    row_id = generate_id()
    return InboxRow(
        id=row_id, source=f"{door}:{row_id}", session=SESSION, lane="express", kind=kind, actor=actor, body=body, received_at=now
    )


def fetch_bot_name(settings: Settings) -> str:
    """Raises SettingsError, whose text never contains the token."""
    token = settings.telegram_bot_token.get_secret_value() if settings.telegram_bot_token else ""
    try:
        answer = httpx.get(f"{settings.telegram_api_base.rstrip('/')}/bot{token}/getMe", timeout=_PATIENCE)
        name = str(answer.json()["result"]["username"]) if answer.status_code == httpx.codes.OK else ""
    except (httpx.HTTPError, httpx.InvalidURL, ValueError, TypeError, KeyError):
        raise SettingsError(
            "Telegram does not answer, so nobody knows the bot's name for the link: try again; nothing was changed"
        ) from None
    if not name:
        raise SettingsError("TELEGRAM_BOT_TOKEN: Telegram does not accept it; nothing was changed")
    return name


async def fetch_invited_name(settings: Settings, user_id: int, own_name: str) -> tuple[str, str]:
    """`own_name`, else that in the portal; and why the portal failed, "" if not.

    Raises EmployeeUnfit.
    """
    try:
        row = await fetch_employee(settings, user_id)
    except (BitrixError, SettingsError) as error:
        return to_visible_line(own_name, limit=LONGEST_NAME), mask(str(error))
    if row is None:
        raise EmployeeUnfit("unknown")
    name = to_visible_line(row.full_name, limit=LONGEST_NAME)
    if not is_employed(row):
        raise EmployeeUnfit("dismissed", name)
    return to_visible_line(own_name, limit=LONGEST_NAME) or name, ""
