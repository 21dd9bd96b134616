"""The bodies of inbox rows (what has come into a session: messages, clicks, due timers), one class for each kind of row.

Doors and features build one and store `to_json()`; the handler of the kind reads the stored body with `model_validate`, or with
`parse_input` where a row may be of any kind. Bodies are stored and may have been written by another version: a new field needs a default.
"""

from collections.abc import Mapping
from typing import Annotated, ClassVar, Final, Unpack

from pydantic import BeforeValidator, ConfigDict, StrictBool, ValidationError

from orchestrator.domain.frozen import View
from state.journal.store import InboxRow

DEFAULT_ENGINE: Final = "crm_agent"


class Input(View):
    """Base class of the bodies of inbox rows."""

    KIND: ClassVar[str] = ""
    """The kind of the inbox row, given as the argument `kind` of the class."""

    def __init_subclass__(cls, *, kind: str = "", **options: Unpack[ConfigDict]) -> None:
        """Set `KIND` from the class argument `kind`; a class without that argument has the kind of its base class."""
        cls.KIND = kind or cls.KIND
        super().__init_subclass__(**options)


_TextOrBlank = Annotated[str, BeforeValidator(lambda value: value if isinstance(value, str) else "")]


class Click(Input):
    """The ids of a button click and of the card it is about, read from an input of any kind; "" where the input has none.

    It can be read from every body, also a malformed one: inputs that cannot be handled are put aside with it.
    """

    callback_id: _TextOrBlank = ""
    """The messenger's id of a click whose sender still waits for an answer to it."""
    confirmation_id: _TextOrBlank = ""


class PlacedInput(Input):
    """Base class of messages that a person sends into a chat: when they were sent, and where they stand in the chat."""

    at: int | None = None
    """Seconds since 1970 on the messenger's clock; None where messages have no sending time."""
    message_id: int = 0
    reply_to: int | None = None
    """The id of the message that this one replies to; None if it is no reply."""
    album: str | None = None
    """The id that the messages of one album share."""


class TextMessage(PlacedInput, kind="message"):
    """A request of a person in words."""

    text: str = ""
    """The person's own words."""
    quoted: str = ""
    """Text of somebody else: forwarded, quoted, pasted; never an instruction."""
    origin: str = ""
    """How the text was entered: "typed", "button" or "voice".

    Only a "typed" message is merged with others; in all other respects "" means the same as "typed".
    """
    pieces: int | None = None
    """The number of messages that this one was merged from; None if it may still be merged with others."""
    engine: str = DEFAULT_ENGINE


class ChoiceMade(Click, kind="message"):
    """The answer to the question which record or person a name means, given by choosing an option.

    Its rows have the kind "message" too.
    """

    answers: str
    """The id of the question that this answers."""
    option: int
    origin: str = ""


class VoiceMessage(PlacedInput, kind="voice"):
    """A voice message: a recording to transcribe."""

    file_id: str
    seconds: int
    size: int
    forwarded: bool = False
    caption: str = ""
    heard: str | None = None
    """The transcribed text; None until the recording has been transcribed."""


class EditedMessage(PlacedInput, kind="edited"):
    """The new text of a message that was edited."""

    text: str


class CardDecision(Click, kind="decision"):
    """A person's decision about a card."""

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
    """A typed command, or one of the buttons that stand for a command."""

    name: str
    args: str = ""
    confirmation_id: str = ""
    """The id of the card; set only for the commands check and details."""


class FeatureClick(Click, kind="press"):
    """A click on a button of a feature; the first of `words` names the feature's handler."""

    words: tuple[str, ...] = ()
    message_id: int = 0


class ReminderClick(Click, kind="reminder"):
    """A click on a button under a reminder; `place` identifies the message with the button."""

    reminder: str
    action: str
    place: str


class TimerDue(Input, kind="timer"):
    """A timer that has become due. The fields of the body with which it was set are added to these fields."""

    timer: str
    """The id of the timer."""
    kind: str


class CallTimerDue(TimerDue):
    """The due timer of a call whose outcome is unknown."""

    effect_id: str


class CardTimerDue(TimerDue):
    """A due timer of a card: its expiry, or a check on the leads (heads of sales) who were asked to decide it."""

    confirmation_id: str
    left: tuple[str, ...] = ()
    """The leads who have not been reminded of the card yet."""


class FieldValue(Input, kind="edit_value"):
    """The new value for a field of a card, typed in reply to the question with the number `ask`."""

    confirmation_id: str
    ask: int
    text: str
    message_id: int = 0
    quoted: str = ""
    """Text of somebody else in the same message; it is kept in case the message turns out to be a request."""
    at: int | None = None


class DenialReason(Input, kind="reason"):
    """Why a lead (head of sales) denied a card; without a card id it belongs to the card on which the lead last pressed a button."""

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


class JoinRequest(Input, kind="join"):
    """Somebody opened an invitation link; the fields are derived from the link's token."""

    token_id: str
    unlock: str
    locale: str


class AccessRequest(Input, kind="knock"):
    """A person who has no access wrote to the bot."""


class PeopleClick(Input, kind="people_press"):
    """A click on a button of the screens that manage people's access, in the chat `chat` of the row's session."""

    press: tuple[str, ...]
    chat: str


class AccessFileChange(Input, kind="access_file"):
    """The access file (who may use the bot) was changed.

    `left` names the people who are no longer in it, `count` says how many it names, `faults` why the file was rejected ("" if it was not).
    """

    left: tuple[str, ...]
    count: int
    faults: str


class AccessEnd(Input, kind="access_lost"):
    """The end of a person's access.

    It comes first as an order of operations staff (kind "person_removed", no `why`), then in each session with a card of that person.
    """

    person: str
    why: str = ""


class FreezeNews(Input, kind="freeze_news"):
    """All writes to the portal were stopped ("frozen") or allowed again; `at` is the time in ISO format."""

    what: str
    at: str
    via: str
    reason: str


class PolicyNews(Input, kind="policy_news"):
    """The policy file has changed or has become invalid."""

    digest: str
    faults: tuple[str, ...]
    restart: bool


_TYPES: Final[Mapping[str, type[Input]]] = {
    one.KIND: one for one in (TextMessage, VoiceMessage, EditedMessage, CardDecision, Command, FeatureClick, ReminderClick, TimerDue)
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


def parse_neighbour(row: InboxRow) -> Input | None:
    """Return what `parse_input` returns, and None for a malformed body too.

    For looks at rows beside the one that is being handled: a malformed one must fail alone, when its own turn comes.
    """
    try:
        return parse_input(row)
    except ValidationError:
        return None
