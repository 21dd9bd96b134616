"""What the inputs of a session say: the bodies of inbox rows, by the kind of the row.

Doors and features build one and store `to_json()`; the handler of the kind reads the stored body with `model_validate`, or `parse_input`
where a row may be of any kind. Bodies are stored and may have been written by another version: a new field needs a default.
"""

from collections.abc import Mapping
from typing import ClassVar, Final, Unpack

from pydantic import ConfigDict, StrictBool

from orchestrator.domain.frozen import View
from state.journal.store import InboxRow

DEFAULT_ENGINE: Final = "crm_agent"


class Input(View):
    """Base class of the bodies."""

    KIND: ClassVar[str] = ""
    """The kind of the inbox row, given as the argument `kind` of the class."""

    def __init_subclass__(cls, *, kind: str = "", **options: Unpack[ConfigDict]) -> None:
        """Set the kind; a class without one has that of its base."""
        cls.KIND = kind or cls.KIND
        super().__init_subclass__(**options)


class Click(Input):
    """The click behind an input and the card it is about, as far as an input of any kind has them."""

    callback_id: str = ""
    """The messenger's id of a click that still waits for its answer."""
    confirmation_id: str = ""


class PlacedInput(Input):
    """Base class of what a person sends into a chat: when, and where it stands."""

    at: int | None = None
    """Seconds since 1970 on the messenger's clock; None where messages have no sending time."""
    message_id: int = 0
    reply_to: int | None = None
    """The message that it replies to."""
    album: str | None = None
    """The id that the messages of one album share."""


class TextMessage(PlacedInput, kind="message"):
    """A request in words."""

    text: str = ""
    """The person's own words."""
    quoted: str = ""
    """Text of somebody else: forwarded, quoted, pasted; never an instruction."""
    origin: str = ""
    """typed, button or voice; only a typed message is merged with others, and "" counts as typed otherwise."""
    pieces: int | None = None
    """The number of messages that it was merged from; None if it may still be merged."""
    engine: str = DEFAULT_ENGINE


class ChoiceMade(Click, kind="message"):
    """The answer to a question about a name, by its option; a row of kind "message" as well."""

    answers: str
    """The id of the question."""
    option: int
    origin: str = ""


class VoiceMessage(PlacedInput, kind="voice"):
    """A recording to transcribe."""

    file_id: str
    seconds: int
    size: int
    forwarded: bool = False
    caption: str = ""
    heard: str | None = None
    """The transcribed text, once there is one."""


class EditedMessage(PlacedInput, kind="edited"):
    """The new text of a message that was edited."""

    text: str


class CardDecision(Click, kind="decision"):
    """A decision about a card."""

    confirmation_id: str
    nonce: str
    approve: StrictBool
    """Strict, because the string "no" is truthy: a client that sends words must not approve by accident."""
    via: str
    """button, typed, cli or http."""
    reason: str = ""


class Command(Input, kind="command"):
    """A typed command, or one of the buttons that stand for a command."""

    name: str
    args: str = ""
    confirmation_id: str = ""
    """The card, for the commands check and details."""


class FeatureClick(Click, kind="press"):
    """A click on a button of a feature: the first word names the feature's handler."""

    words: tuple[str, ...] = ()
    message_id: int = 0


class ReminderClick(Click, kind="reminder"):
    """A click on a button of a reminder."""

    reminder: str
    action: str
    place: str


class TimerDue(Input, kind="timer"):
    """A timer that has become due; the body that it was set with stands beside these fields."""

    timer: str
    """The id of the timer."""
    kind: str


class CallTimerDue(TimerDue):
    """The timer of a call whose outcome is unknown."""

    effect_id: str


class CardTimerDue(TimerDue):
    """A timer of a card."""

    confirmation_id: str
    left: tuple[str, ...] = ()
    """The leads who were not reminded yet."""


class FieldValue(Input, kind="edit_value"):
    """The new value of a field of a card, in reply to the question `ask`."""

    confirmation_id: str
    ask: int
    text: str
    message_id: int = 0


class DenialReason(Input, kind="reason"):
    """A lead's reason for a denial; without a card it belongs to the card of the lead's last click."""

    confirmation_id: str = ""
    nonce: str = ""
    home: str = ""
    """The session of the card; "" once the input has reached it."""
    text: str
    message_id: int = 0


class PreferenceChange(Input, kind="preference"):
    """A setting of a person, to be set to `value`."""

    preference: str = ""
    value: str = ""


class JoinRequest(Input, kind="join"):
    """A link was opened: what is derived from its token."""

    token_id: str
    unlock: str
    locale: str


class AccessRequest(Input, kind="knock"):
    """A stranger wrote."""


class PeopleClick(Input, kind="people_press"):
    """A click on a button of the people screens, in the chat of that session."""

    press: tuple[str, ...]
    chat: str


class AccessFileChange(Input, kind="access_file"):
    """The access file was changed: who is no longer in it, how many people it names, or the faults for which it was rejected."""

    left: tuple[str, ...]
    count: int
    faults: str


class AccessEnd(Input, kind="access_lost"):
    """The end of a person's access: as an order of ops (kind "person_removed", no `why`), then in each session with a card of theirs."""

    person: str
    why: str = ""


class FreezeNews(Input, kind="freeze_news"):
    """Writes were frozen or released at an ISO time."""

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
"""The kinds of requests, which wait for their turn, are counted in the queue and are dropped by /stop."""


def parse_input(row: InboxRow) -> Input | None:
    """Return what a person's input or a timer says; None for inputs of other kinds. Raises ValidationError for a malformed body."""
    if row.kind == ChoiceMade.KIND and row.body.get("answers"):
        return ChoiceMade.model_validate(row.body)
    known = _TYPES.get(row.kind)
    return known.model_validate(row.body) if known is not None else None
