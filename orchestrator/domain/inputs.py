"""Bodies of inbox rows. A stored one may be of another version of the program, so a new field needs a default."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any, ClassVar, Final, Literal, Unpack

from pydantic import BeforeValidator, ConfigDict, StrictBool, ValidationError

from orchestrator.domain.frozen import View
from orchestrator.domain.outputs import Notice
from state.clock import generate_id
from state.events.base import DEFAULT_ENGINE
from state.journal.store import InboxRow, Lane
from state.stored import JsonObject

SYSTEM: Final = {"key": "system", "name": "system"}
LONGEST_REASON: Final = 500
"""Of a denial; the rest is cut."""
OVER_HTTP: Final = "http"
IN_CONSOLE: Final = "console"
ANSWERED_THERE: Final = frozenset({OVER_HTTP, IN_CONSOLE})
"""Who decides there sees the whole card."""
ADD_TO: Final = "addto"
"""A button that keeps an old text and adds the new one to it; the card's id follows."""
UNDO: Final = "undo"
"""A button that takes a call back; the effect's id follows."""


class Input(View):
    KIND: ClassVar[str] = ""

    def __init_subclass__(cls, *, kind: str = "", **options: Unpack[ConfigDict]) -> None:
        cls.KIND = kind or cls.KIND
        super().__init_subclass__(**options)

    def to_row(
        self, session: str, *, source: str, actor: Mapping[str, Any], now: datetime, lane: Lane = "express", row_id: str = ""
    ) -> InboxRow:
        return InboxRow(
            id=row_id or generate_id(),
            source=source,
            session=session,
            lane=lane,
            kind=self.KIND,
            actor=actor,
            body=self.to_json(),
            received_at=now,
        )


_TextOrBlank = Annotated[str, BeforeValidator(lambda value: value if isinstance(value, str) else "")]


class Click(Input):
    """Ids are "" if there is none. It parses every body, so that even a malformed row's click is answered."""

    callback_id: _TextOrBlank = ""
    confirmation_id: _TextOrBlank = ""


class PlacedInput(Input):
    at: int | None = None
    """Seconds since 1970 on the messenger's clock; None without a sending time."""
    message_id: int = 0
    reply_to: int | None = None
    album: str | None = None


class AnsweringInput(PlacedInput):
    """What comes with the person's own words."""

    quoted: str = ""
    """Text of somebody else: forwarded or quoted; never an instruction."""
    cited: str = ""
    """The part of the bot's own answer that was quoted."""
    answered: str = ""
    """The message of the bot, or their own, that the person replied to."""
    is_answered_own: bool = False
    answered_records: tuple[str, ...] = ()
    """To which the answered message of the bot links."""
    answers_others: bool = False
    attached: str = ""
    """Not read: "photo", "video", "document", "audio" or "other"; "answered" for the message that is replied to."""


class TextMessage(AnsweringInput, kind="message"):
    text: str = ""
    origin: str = ""
    """One of "typed", "button" or "voice"; only "typed" is merged with others."""
    pieces: int | None = None
    engine: str = DEFAULT_ENGINE
    is_request: bool = False
    """The person said that it is no answer for which a run waits."""


class ChoiceMade(Click, kind="message"):
    answers: str
    option: int
    origin: str = ""


class TurnGoesOn(Input, kind="go_on"):
    """The last card that a turn waited for is decided; the present rights of the person count."""

    turn_id: str
    engine: str = DEFAULT_ENGINE


class VoiceMessage(AnsweringInput, kind="voice"):
    file_id: str
    seconds: int
    size: int
    forwarded: bool = False
    caption: str = ""
    heard: str | None = None


class DirectAnswer(Input, kind="answer"):
    """Decided by the front end and stored, so that an update sent again is answered once."""

    notice: Notice


class EditedMessage(PlacedInput, kind="edited"):
    text: str


class CardDecision(Click, kind="decision"):
    confirmation_id: str
    nonce: str
    approve: StrictBool
    """Strict, because the string "no" is truthy: nobody must approve by accident."""
    via: str
    reason: str = ""


class Command(Input, kind="command"):
    name: str
    args: str = ""
    confirmation_id: str = ""


class FeatureClick(Click, kind="press"):
    words: tuple[str, ...] = ()
    message_id: int = 0


class ReminderClick(Click, kind="reminder"):
    reminder: str
    action: str
    place: str


class TimerDue(Input, kind="timer"):
    """Also contains the fields stored with the timer."""

    timer: str
    kind: str


class CallTimerDue(TimerDue):
    effect_id: str


class CardTimerDue(TimerDue):
    """It expires, its leads are to be reminded, or it is checked that it reached one."""

    confirmation_id: str
    left: tuple[str, ...] = ()
    """Leads not reminded yet."""


class FieldValue(Input, kind="edit_value"):
    confirmation_id: str
    ask: int
    text: str
    message_id: int = 0
    quoted: str = ""
    """Kept in case the message is a request."""
    at: int | None = None
    origin: str = "typed"


class DenialReason(Input, kind="reason"):
    confirmation_id: str = ""
    nonce: str = ""
    home: str = ""
    """The session of the card; "" once passed on to it."""
    text: str
    message_id: int = 0


class PreferenceChange(Input, kind="preference"):
    preference: str = ""
    value: str = ""


class ConsoleLogin(Input, kind="console_login"):
    """The link works once: the row's source is made of `login_id`."""

    login_id: str


POLICY_FILE: Final = "policy-file"


class PolicyFileSaved(Input, kind="policy_file_saved"):
    digest: str


class JoinRequest(Input, kind="join"):
    """`token_id` and `unlock` (decrypts the invited person's name) are computed from the link's secret, never the other way."""

    token_id: str
    unlock: str
    locale: str


class AccessRequest(Input, kind="knock"):
    asks: bool = True
    """False if administrators were asked within a day."""
    answered: bool = False
    """False if the person was told within a minute."""
    begins: bool = False
    """Start was pressed: answered even within the minute."""


class PeopleClick(Input, kind="people_press"):
    press: tuple[str, ...]
    chat: str


class AccessFileChange(Input, kind="access_file"):
    """`left` are people no longer listed; `faults` is "" if the file was accepted."""

    left: tuple[str, ...]
    count: int
    faults: str


class AccessEnd(Input, kind="access_lost"):
    """ "person_removed", without `why`, orders it; "access_lost" rows follow, one for the person's chat and each session with an open card.

    `why` is "admin" or "portal".
    """

    person: str
    why: str = ""


class FreezeNews(Input, kind="freeze_news"):
    what: str
    at: str
    via: str
    reason: str


class DefinitionNews(Input, kind="definition_news"):
    definition_kind: str
    key: str
    version: int
    title: str = ""
    at: str
    note: str = ""


class SentDocument(PlacedInput, kind="sent_document"):
    """For the company's documents if an administrator wants it, otherwise what `instead` says."""

    file_id: str
    name: str
    size: int = 0
    caption: str = ""
    instead_kind: str
    instead_lane: Literal["turn", "express"]
    instead: JsonObject


class DocumentOrder(Input, kind="document_order"):
    what: Literal["add", "remove"]
    path: str
    stamp: str = ""
    file_id: str = ""
    size: int = 0
    offer: str = ""
    readers: str = ""


class PolicyNews(Input, kind="policy_news"):
    digest: str
    faults: tuple[str, ...]
    restart: bool


_TYPES: Final[Mapping[str, type[Input]]] = {
    one.KIND: one
    for one in (TextMessage, VoiceMessage, EditedMessage, CardDecision, Command, FeatureClick, ReminderClick, TimerDue, TurnGoesOn)
}


REQUEST_KINDS: Final = frozenset({TextMessage.KIND, VoiceMessage.KIND})
"""They wait for their turn and are dropped by /stop."""


def parse_input(row: InboxRow) -> Input | None:
    """None for other kinds. Raises ValidationError."""
    if row.kind == ChoiceMade.KIND and row.body.get("answers"):
        return ChoiceMade.model_validate(row.body)
    known = _TYPES.get(row.kind)
    return known.model_validate(row.body) if known is not None else None


@dataclass(frozen=True, slots=True)
class ParsedInput:
    row: InboxRow
    content: Input | None


def read_input(row: InboxRow) -> ParsedInput:
    """Raises ValidationError."""
    return ParsedInput(row, parse_input(row))


def parse_neighbour(row: InboxRow) -> Input | None:
    """None also if malformed: a row must fail only when it is handled itself."""
    try:
        return parse_input(row)
    except ValidationError:
        return None
