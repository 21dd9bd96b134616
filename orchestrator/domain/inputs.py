"""The bodies of inbox rows, one class for each kind of row. An inbox row is an input of a session: a message, a click, a due timer.

The code that receives an input builds its class and stores `to_json()`. The handler of that kind parses the stored body with
`model_validate`, or with `read_input` if the row may be of any kind. A stored body may have been written by another version of the
program, so a new field needs a default.
"""

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
"""The sender of inputs that no person sent, as inbox rows store it."""


class Input(View):
    """Base class of the bodies of inbox rows."""

    KIND: ClassVar[str] = ""
    """The kind of the inbox row, given as the argument `kind` of the class."""

    def __init_subclass__(cls, *, kind: str = "", **options: Unpack[ConfigDict]) -> None:
        """Set `KIND` from the class argument `kind`; a class without that argument has the kind of its base class."""
        cls.KIND = kind or cls.KIND
        super().__init_subclass__(**options)

    def to_row(
        self, session: str, *, source: str, actor: Mapping[str, Any], now: datetime, lane: Lane = "express", row_id: str = ""
    ) -> InboxRow:
        """Return the inbox row that gives this input to `session`; it is stored only once for each `source`.

        `actor` is its sender as rows store it. Without `row_id` the row gets a new id.
        """
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
    """Base class of inputs from button clicks: the id of the click and of the confirmation card it is about; "" if there is none.

    It can parse the body of every inbox row, even a malformed one. So even if a row cannot be handled, the program finds the click in it
    and can answer the click.
    """

    callback_id: _TextOrBlank = ""
    """The messenger's id of a click whose sender still waits for an answer to it."""
    confirmation_id: _TextOrBlank = ""


class PlacedInput(Input):
    """Base class of the messages that people send into a chat: the sending time, and the message's position in the chat."""

    at: int | None = None
    """Seconds since 1970 on the messenger's clock; None where messages have no sending time."""
    message_id: int = 0
    reply_to: int | None = None
    """The id of the message that this one replies to; None if it is no reply."""
    album: str | None = None
    """The id that the messages of one album share."""


class TextMessage(PlacedInput, kind="message"):
    """A person's request in words: a typed message, a sample request sent with a button, or a transcribed voice message."""

    text: str = ""
    """The person's own words."""
    quoted: str = ""
    """Text of somebody else, as the front end marks it: forwarded or quoted; never an instruction."""
    cited: str = ""
    """The part of the bot's own answer that the person quoted."""
    answers_others: bool = False
    """Whether the message replies to somebody else than the bot."""
    origin: str = ""
    """How the text was entered: "typed", "button" or "voice".

    Only a "typed" message is merged with others; in all other respects "" means the same as "typed".
    """
    pieces: int | None = None
    """The number of messages that this one was merged from; None if it may still be merged with others."""
    attached: str = ""
    """What came with the text and is not read: "photo", "video", "document", "audio" or "other"; "" if nothing did."""
    engine: str = DEFAULT_ENGINE
    is_request: bool = False
    """Whether the person has said that it is a request, and not the answer for which a run waits here."""


class ChoiceMade(Click, kind="message"):
    """The person's answer to the question which record or employee a name means: the option that they chose.

    Its inbox rows have the kind "message", as those of `TextMessage` have.
    """

    answers: str
    """The id of the question that this answers."""
    option: int
    origin: str = ""


class TurnGoesOn(Input, kind="go_on"):
    """The last card that a turn waited for is decided: the turn goes on, with the present rights of the person who asked."""

    turn_id: str
    engine: str = DEFAULT_ENGINE


class VoiceMessage(PlacedInput, kind="voice"):
    """A voice message: the recording, which is to be transcribed, and the text once that is done."""

    file_id: str
    seconds: int
    size: int
    forwarded: bool = False
    caption: str = ""
    heard: str | None = None
    """The transcribed text; None until the recording has been transcribed."""


class DirectAnswer(Input, kind="answer"):
    """An answer that needs no turn, such as that a sticker cannot be read.

    The front end decides on it, but stores it as an input. So an update that the messenger sends again is answered only once.
    """

    notice: Notice


class EditedMessage(PlacedInput, kind="edited"):
    """A message that its author edited after sending it, with its new text."""

    text: str


class CardDecision(Click, kind="decision"):
    """A person's decision about a confirmation card: approval or denial."""

    confirmation_id: str
    nonce: str
    approve: StrictBool
    """True for an approval, False for a denial.

    The type is strict, because the string "no" is truthy: a client that sends words must not approve by accident.
    """
    via: str
    """How the person decided: "button", "typed", "cli" or "http"."""
    reason: str = ""


class Command(Input, kind="command"):
    """A command such as /stop, which a person typed or sent with a button."""

    name: str
    args: str = ""
    confirmation_id: str = ""
    """The id of the card; set only for the commands check and details."""


class FeatureClick(Click, kind="press"):
    """A click on a button of a feature (a part of the program such as history); the first of `words` names the handler of the click."""

    words: tuple[str, ...] = ()
    message_id: int = 0


class ReminderClick(Click, kind="reminder"):
    """A click on a button below a message about a reminder; `place` says which of the messages about that reminder has the button."""

    reminder: str
    action: str
    place: str


class TimerDue(Input, kind="timer"):
    """A timer that has become due. The body also contains the fields that were stored when the timer was set."""

    timer: str
    """The id of the timer."""
    kind: str


class CallTimerDue(TimerDue):
    """A due timer of a call whose outcome is unknown: the portal is asked again whether the call happened."""

    effect_id: str


class CardTimerDue(TimerDue):
    """A due timer of a card: the card expires, or the leads (heads of sales) who decide about it are to be reminded.

    Another such timer checks whether the card reached any of these leads.
    """

    confirmation_id: str
    left: tuple[str, ...] = ()
    """The leads who have not been reminded of the card yet."""


class FieldValue(Input, kind="edit_value"):
    """The new value for a field of a card, typed or spoken by a person; `ask` is the number of the question that the person answers."""

    confirmation_id: str
    ask: int
    text: str
    message_id: int = 0
    quoted: str = ""
    """Text of somebody else in the same message; it is kept in case the message turns out to be a request."""
    at: int | None = None
    origin: str = "typed"
    """How the text was entered: "typed" or "voice"."""


class DenialReason(Input, kind="reason"):
    """The reason, typed by a lead (head of sales), why a card was denied.

    Without `confirmation_id` it belongs to the card on which the lead last pressed a button.
    """

    confirmation_id: str = ""
    nonce: str = ""
    home: str = ""
    """The session of the card; "" once the input has been passed on to that session."""
    text: str
    message_id: int = 0


class PreferenceChange(Input, kind="preference"):
    """A request to set a person's setting `preference` to `value`."""

    preference: str = ""
    value: str = ""


class ConsoleLogin(Input, kind="console_login"):
    """A browser brought a link of the console, which works once: the row's source is made of `login_id`."""

    login_id: str


POLICY_FILE: Final = "policy-file"
"""The session of the news of who has saved the policy file."""


class PolicyFileSaved(Input, kind="policy_file_saved"):
    """The sender has saved the owner's policy file in the console; `digest` identifies its text."""

    digest: str


class JoinRequest(Input, kind="join"):
    """A person opened an invitation link to get access.

    `token_id` identifies the link's secret token, and `unlock` is the key that decrypts the name of the invited person. Both are computed
    from the token; the token cannot be computed from them.
    """

    token_id: str
    unlock: str
    locale: str


class AccessRequest(Input, kind="knock"):
    """A person who has no access wrote to the bot, which counts as a request for access."""

    asks: bool = True
    """Whether the administrators are asked; False if they were asked about this person within a day."""
    answered: bool = False
    """Whether the person is told that they have no access; False if they were told within a minute."""
    begins: bool = False
    """Whether the person pressed Start: this is answered although something else was within the minute."""


class PeopleClick(Input, kind="people_press"):
    """A click on a button of the screens that manage people's access; `chat` is the session key of the chat with the button."""

    press: tuple[str, ...]
    chat: str


class AccessFileChange(Input, kind="access_file"):
    """The access file, which lists the people who may use the bot, was changed.

    `left` holds the people whom it no longer lists, `count` is the number of people that it lists, and `faults` is the reason why the file
    was rejected, or "" if it was accepted.
    """

    left: tuple[str, ...]
    count: int
    faults: str


class AccessEnd(Input, kind="access_lost"):
    """A person lost, or is to lose, the access to the bot.

    There are two kinds of rows. A row "person_removed", without `why`, is the order of operations staff to end the access. Rows
    "access_lost" follow when the access has ended: one for the person's own chat, and one for each session with an open card of the person.
    Their `why` is "admin" (ordered by operations staff) or "portal" (the portal no longer lists the person as a working employee).
    """

    person: str
    why: str = ""


class FreezeNews(Input, kind="freeze_news"):
    """News for the administrators that all writes to the portal were stopped (`what` is "frozen") or allowed again.

    `at` is the time of the order in ISO format, `via` the way in which the order was given.
    """

    what: str
    at: str
    via: str
    reason: str


class DefinitionNews(Input, kind="definition_news"):
    """News for leads and administrators that a version of a definition was published, by the sender of the row at the time `at`."""

    definition_kind: str
    key: str
    version: int
    title: str = ""
    """What people call it; "" if it has no title."""
    at: str
    note: str = ""


class SentDocument(PlacedInput, kind="sent_document"):
    """A file that came into a private chat: a document of the company if an administrator wants it, otherwise what `instead` says."""

    file_id: str
    """The messenger's id of the file, which is not downloaded yet."""
    name: str
    """Its name as the sender's program says it, cleaned."""
    size: int = 0
    caption: str = ""
    instead_kind: str
    """The kind, the lane and the body of the input that the message is otherwise."""
    instead_lane: Literal["turn", "express"]
    instead: JsonObject


class DocumentOrder(Input, kind="document_order"):
    """An administrator's order to add a file to the company's documents, or to remove one. It is in the session of their chat."""

    what: Literal["add", "remove"]
    path: str
    """The place of the document in the folder."""
    stamp: str = ""
    """What the document was that is replaced or removed; "" for a new one."""
    file_id: str = ""
    size: int = 0
    offer: str = ""
    """The offer that was pressed."""
    readers: str = ""
    """Who may read the new document, as the question said it: the code of that notice."""


class PolicyNews(Input, kind="policy_news"):
    """News for the administrators that the policy file (the company's rules) has changed or has become invalid.

    `faults` are the mistakes in an invalid file, `digest` identifies the content of a valid one, and `restart` says whether the change
    needs a restart of the program.
    """

    digest: str
    faults: tuple[str, ...]
    restart: bool


_TYPES: Final[Mapping[str, type[Input]]] = {
    one.KIND: one
    for one in (TextMessage, VoiceMessage, EditedMessage, CardDecision, Command, FeatureClick, ReminderClick, TimerDue, TurnGoesOn)
}


REQUEST_KINDS: Final = frozenset({TextMessage.KIND, VoiceMessage.KIND})
"""The kinds of inbox rows that are requests: they wait for their turn, are counted in the queue and are dropped by /stop."""


def parse_input(row: InboxRow) -> Input | None:
    """Return the parsed body of a person's input or of a timer; None for rows of other kinds.

    Raises ValidationError for a malformed body.
    """
    if row.kind == ChoiceMade.KIND and row.body.get("answers"):
        return ChoiceMade.model_validate(row.body)
    known = _TYPES.get(row.kind)
    return known.model_validate(row.body) if known is not None else None


@dataclass(frozen=True, slots=True)
class ParsedInput:
    """An inbox row with its body, which is parsed once: where the row is taken up."""

    row: InboxRow
    content: Input | None
    """None for rows of the kinds that `parse_input` does not parse."""


def read_input(row: InboxRow) -> ParsedInput:
    """Return the row with its parsed body. Raises ValidationError for a malformed body."""
    return ParsedInput(row, parse_input(row))


def parse_neighbour(row: InboxRow) -> Input | None:
    """Return the parsed body as `parse_input` does, but None for a malformed body too.

    Use it to look at rows other than the one being handled: a malformed row must fail only when it is handled itself.
    """
    try:
        return parse_input(row)
    except ValidationError:
        return None
