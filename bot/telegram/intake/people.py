"""Languages of chats, messages of people without access ("strangers"), buttons about access. Grants no access."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final

from aiogram.types import InlineKeyboardButton, InlineKeyboardMarkup, Message, User

from bot.access.access import Access
from bot.i18n.translate import Translator
from bot.rendering.pictures.palette import ThemeName
from bot.telegram.intake.callbacks import ExampleClick, pack
from bot.telegram.intake.message_content import is_foreign
from orchestrator.domain.actor import Actor
from orchestrator.domain.inputs import AccessRequest, Input, JoinRequest, PeopleClick
from orchestrator.features.people.registry import build_proof
from orchestrator.gate.call.escape_text import escape_text
from state.canonical import to_storable_text
from state.journal.store import InboxRow
from state.model.registry import SESSION
from state.stored import JsonObject

REPLY_INTERVAL: Final = timedelta(minutes=1)
"""Between two answers to one stranger."""
ACCESS_REQUEST_INTERVAL: Final = timedelta(days=1)
_MOST: Final = 5000
"""Above it the stranger remembered longest is forgotten."""
_LONGEST_NAME: Final = 80
_START = re.compile(r"/start(?:@\w+)?\s+(?P<payload>\S+)")
_TOKEN = re.compile(r"[A-Za-z0-9_-]{1,64}")
_RUN = re.compile(r"run_(?P<key>[A-Za-z0-9][A-Za-z0-9_-]{0,58})")
"""A deep link that starts a scenario; one of 64 characters is an invitation's token."""
_PRESS = re.compile(r"p1:[a-z]{1,12}(?::[A-Za-z0-9_-]{1,24}){1,4}")
_LIMIT = 64


class ChatPeople:
    """The language of a group is Russian."""

    def __init__(self, access: Access) -> None:
        self.access = access
        self._replied_at: dict[str, _Claim] = {}
        self._started_at: dict[str, _Claim] = {}
        self._requested_at: dict[str, _Claim] = {}

    def build_translator(self, session: str) -> Translator:
        number = int(session.split(":")[1]) if session else 0
        actor = self.access.find_actor(number) or self.access.find_listed_actor(number)
        return Translator(actor.locale, actor.time_zone) if actor else Translator("ru")

    def find_theme(self, session: str) -> ThemeName:
        """Of pictures; a group's is light."""
        chosen = self.access.resolve_preferences(":".join(session.split(":")[:2]))
        return "dark" if chosen.get("dark") == "on" else "light"

    def throttle_strangers(self, rows: Sequence[InboxRow], now: datetime) -> tuple[InboxRow, ...]:
        """A stranger gets one answer a minute and one to /start; administrators are asked once a day."""
        return tuple(limited for row in rows if (limited := self._limit_request(row, now)) is not None)

    def _limit_request(self, row: InboxRow, now: datetime) -> InboxRow | None:
        if row.kind != AccessRequest.KIND:
            return row
        asks = _claim_turn(self._requested_at, row, now, ACCESS_REQUEST_INTERVAL)
        request = AccessRequest.model_validate(row.body)
        answered = _claim_turn(self._started_at if request.begins else self._replied_at, row, now, REPLY_INTERVAL)
        return replace(row, body=request.model_copy(update={"asks": asks, "answered": answered}).to_json()) if asks or answered else None


@dataclass(frozen=True, kw_only=True)
class _Claim:
    at: datetime
    source: str


def _claim_turn(last: dict[str, _Claim], row: InboxRow, now: datetime, every: timedelta) -> bool:
    """Whether `every` has passed since the sender's last claim; if so it is renewed.

    The same update may claim again: it could not be stored.
    """
    who = row.actor_key
    claim = last.get(who)
    if claim is not None and claim.source != row.source and timedelta(0) <= now - claim.at < every:
        return False
    last.pop(who, None)
    last[who] = _Claim(at=now, source=row.source)
    while len(last) > _MOST:
        del last[next(iter(last))]
    return True


def extract_start_payload(text: str) -> str:
    """ "" for other texts."""
    match = _START.fullmatch(text.strip())
    return match["payload"] if match and _TOKEN.fullmatch(match["payload"]) else ""


def extract_run_key(payload: str) -> str:
    """ "" if it starts none."""
    match = _RUN.fullmatch(payload)
    return match["key"] if match else ""


def parse_stranger_message(message: Message, source: str, now: datetime) -> tuple[InboxRow, ...]:
    """A join request for an invitation, otherwise an access request.

    The link's token is not stored, only its fingerprint and the key of the invited name.
    """
    user = message.from_user
    if user is None or user.is_bot or message.chat.type != "private":
        return ()
    locale = "en" if (user.language_code or "").lower().startswith("en") else "ru"
    payload = extract_start_payload(message.text or "") if not is_foreign(message) else ""
    if payload and not extract_run_key(payload):  # a link to a scenario is no invitation
        proof = build_proof(payload)
        brought = JoinRequest(token_id=proof.fingerprint, unlock=proof.unlock, locale=locale)
        return (_build_row(brought, source, _describe_sender(user), now),)
    request = AccessRequest(answered=True, begins=(message.text or "").strip().partition(" ")[0].partition("@")[0] == "/start")
    return (_build_row(request, source, _describe_sender(user), now),)


def parse_people_click(data: str, source: str, session: str, actor: Actor, now: datetime) -> InboxRow | None:
    """None for data of other messages."""
    if len(data) > _LIMIT or not _PRESS.fullmatch(data):
        return None
    return _build_row(PeopleClick(press=tuple(data.split(":")[1:]), chat=session), source, actor.model_dump(mode="json"), now)


def _build_row(stored_input: Input, source: str, actor: JsonObject, now: datetime) -> InboxRow:
    return stored_input.to_row(SESSION, source=source, actor=actor, now=now)


def _describe_sender(user: User) -> dict[str, str]:
    """{"key": "tg:<user id>", "name": escaped name and username}."""
    # The stranger chose this name: invisible and bidirectional characters are escaped, and "@" is kept only for the username from Telegram.
    full = escape_text(to_storable_text(user.full_name), limit=_LONGEST_NAME).replace("@", "")
    return {"key": f"tg:{user.id}", "name": f"{full} (@{user.username})" if user.username else full}


def build_people_keyboard(body: JsonObject, tr: Translator) -> InlineKeyboardMarkup | None:
    rows = [[_build_button(button, tr) for button in line] for line in body.get("buttons") or () if line]
    return InlineKeyboardMarkup(inline_keyboard=rows) if rows else None


def _build_button(button: JsonObject, tr: Translator) -> InlineKeyboardButton:
    text = str(button.get("label") or tr.translate(str(button["code"]), **button.get("args", {})))
    if "example" in button:
        return InlineKeyboardButton(text=text, callback_data=pack(ExampleClick(code=str(button["example"]))))
    return InlineKeyboardButton(text=text, callback_data=":".join(["p1", *map(str, button["press"])]))
