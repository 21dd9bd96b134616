"""Determines the language of a chat, handles messages of strangers (people without access), and builds the buttons of access messages.

Access messages are about people and their access, such as invitations and access requests. No code here grants access.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final

from aiogram.types import InlineKeyboardButton, InlineKeyboardMarkup, Message, User

from bot.access.access import Access
from bot.i18n.translate import Translator
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
"""Minimum time between two answers to one stranger (a person without access)."""
ACCESS_REQUEST_INTERVAL: Final = timedelta(days=1)
_MOST: Final = 5000
"""Maximum number of remembered strangers; above it the one remembered longest is forgotten."""
_LONGEST_NAME: Final = 80
_START = re.compile(r"/start(?:@\w+)?\s+(?P<payload>\S+)")
_TOKEN = re.compile(r"[A-Za-z0-9_-]{1,64}")
_RUN = re.compile(r"run_(?P<key>[A-Za-z0-9][A-Za-z0-9_-]{0,58})")
"""Matches the payload of a deep link that starts a scenario, such as "run_greeting"; one of 64 characters is the token of an invitation."""
_PRESS = re.compile(r"p1:[a-z]{1,12}(?::[A-Za-z0-9_-]{1,24}){1,4}")
_LIMIT = 64


class ChatPeople:
    """Chooses the language of each chat, and limits how often strangers (people without access) get an answer.

    In a private chat the language is the person's own, in a group it is Russian.
    """

    def __init__(self, access: Access) -> None:
        """Look up people and their languages in `access`; no stranger has got an answer yet."""
        self.access = access
        self._replied_at: dict[str, _Claim] = {}
        self._started_at: dict[str, _Claim] = {}
        self._requested_at: dict[str, _Claim] = {}

    def build_translator(self, session: str) -> Translator:
        """Return the translator into the language and time zone of the chat with this session key ("tg:<chat>…")."""
        number = int(session.split(":")[1]) if session else 0
        actor = self.access.find_actor(number) or self.access.find_listed_actor(number)
        return Translator(actor.locale, actor.time_zone) if actor else Translator("ru")

    def throttle_strangers(self, rows: Sequence[InboxRow], now: datetime) -> tuple[InboxRow, ...]:
        """Return the inbox rows `rows` of one message, limited so that a stranger (person without access) cannot flood the bot.

        A stranger gets at most one answer a minute, and one to /start, and the administrators are asked about them at most once a day. An
        access request that does neither is left out. All other rows are returned unchanged.
        """
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
    """When something was last done for a stranger, and the source (id) of the update for which it was done."""

    at: datetime
    source: str


def _claim_turn(last: dict[str, _Claim], row: InboxRow, now: datetime, every: timedelta) -> bool:
    """Return whether at least `every` has passed since the last claim of the sender of `row`; if so, record a new claim.

    Also returns True if the sender has no claim, or one later than `now` because the clock was set back. The same is true if the last claim
    is for this very update: it could not be stored and is tried again.
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
    """Return the payload of a deep link, which arrives as the text "/start <payload>"; "" for every other text."""
    found = _START.fullmatch(text.strip())
    return found["payload"] if found and _TOKEN.fullmatch(found["payload"]) else ""


def extract_run_key(payload: str) -> str:
    """Return the key of the scenario that a deep link with this payload starts, "" if it starts none."""
    found = _RUN.fullmatch(payload)
    return found["key"] if found else ""


def parse_stranger_message(message: Message, source: str, now: datetime) -> tuple[InboxRow, ...]:
    """Return the inbox row for a private message of a person without access.

    A message that opens an invitation link becomes a join request, any other message an access request, whose handler answers the person.
    Messages in groups and messages of bots give no row. The link's token is not stored, only its fingerprint and the key that decrypts the
    name in the invitation. `source` identifies the update, so that one that arrives again is not stored twice.
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
    """Return the inbox row for a click on a button of an access message (about people and their access); None for other callback data.

    `session` is the key of the chat with the button, `actor` the person who clicked. `source` identifies the update, so that one that
    arrives again is not stored twice.
    """
    if len(data) > _LIMIT or not _PRESS.fullmatch(data):
        return None
    return _build_row(PeopleClick(press=tuple(data.split(":")[1:]), chat=session), source, actor.model_dump(mode="json"), now)


def _build_row(said: Input, source: str, actor: JsonObject, now: datetime) -> InboxRow:
    return said.to_row(SESSION, source=source, actor=actor, now=now)


def _describe_sender(user: User) -> dict[str, str]:
    """Return the sender as {"key": "tg:<user id>", "name": name}.

    The name is the one that Telegram gives, escaped, followed by the username if there is one.
    """
    # The stranger chose this name: invisible and bidirectional characters are escaped, and "@" is kept only for the username from Telegram.
    full = escape_text(to_storable_text(user.full_name), limit=_LONGEST_NAME).replace("@", "")
    return {"key": f"tg:{user.id}", "name": f"{full} (@{user.username})" if user.username else full}


def build_people_keyboard(body: JsonObject, tr: Translator) -> InlineKeyboardMarkup | None:
    """Return the buttons of an access message (about people and their access) with this body; None if it has no buttons."""
    rows = [[_build_button(button, tr) for button in line] for line in body.get("buttons") or () if line]
    return InlineKeyboardMarkup(inline_keyboard=rows) if rows else None


def _build_button(button: JsonObject, tr: Translator) -> InlineKeyboardButton:
    text = str(button.get("label") or tr.translate(str(button["code"]), **button.get("args", {})))
    if "example" in button:
        return InlineKeyboardButton(text=text, callback_data=pack(ExampleClick(code=str(button["example"]))))
    return InlineKeyboardButton(text=text, callback_data=":".join(["p1", *map(str, button["press"])]))
