"""Request bodies of the control interface (`/sandbox/…`), one model for each kind of request."""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from sandbox.telegram.acting import Around, Origin
from sandbox.telegram.faults import ANY_METHOD, FaultKind
from sandbox.telegram.limits import DOCUMENTED, RateLimits
from sandbox.telegram.storage.people import GroupKind


class Body(BaseModel):
    """Base class of request bodies of the control interface. An unknown field is refused, since it must be a typing mistake."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class NewPerson(Body):
    """A person to add, whose private chat with the bot gets the same id.

    If `started` is False, the person has never started the bot, and the bot cannot write to the person.
    """

    id: int = Field(gt=2)
    first_name: str
    username: str = ""
    role: str = "stranger"
    bitrix_id: int | None = None
    language_code: str = "ru"
    started: bool = True


class NewGroup(Body):
    """A group to create with the bot as a member. If `added_by` is the id of a person, the bot gets an update that this person added it."""

    title: str
    members: list[int]
    kind: GroupKind = "supergroup"
    added_by: int | None = None


class Placed(Body):
    """Base class of messages: chat, topic, message replied to, origin of a forward, and sender. Subclasses add the content."""

    chat_id: int | None = None
    thread: int | None = None
    reply_to: int | None = None
    quote: str | None = None
    forward_from: int | str | None = None
    origin: Origin | None = None
    via_bot: str | None = None
    as_chat: Literal["anonymous_admin", "channel"] | None = None

    def around(self) -> Around:
        """Return these fields as the `Around` object that the functions in `acting` take."""
        return Around(**{name: getattr(self, name) for name in Placed.model_fields})


class Sent(Placed):
    """A text that a person writes."""

    text: str
    entities: list[dict[str, Any]] | None = None


class Burst(Placed):
    """Several texts that a person writes one right after the other."""

    texts: Annotated[list[str], Field(min_length=1, max_length=100)]


class Forwarded(Burst):
    """Messages of somebody else that a person forwards, with a comment of the person before or after them."""

    comment: str = ""
    comment_first: bool = True


class Voice(Placed):
    """A voice message, given by exactly one of three fields: the spoken words, the name of a sample, or a recording in base64.

    `seconds` is its length.
    """

    words: str | None = None
    sample: str | None = None
    base64: str | None = None
    seconds: int | None = Field(default=None, ge=0, le=3600)


class SharedContact(Placed):
    """A contact that a person sends: that of a person of the sandbox, whose id is `of`, or one with a phone number and a name.

    With the sender's own id the contact is the sender's own.
    """

    of: int | None = None
    phone_number: str | None = Field(default=None, min_length=1, max_length=64)
    first_name: str = Field(default="", max_length=64)
    last_name: str = Field(default="", max_length=64)
    vcard: str = Field(default="", max_length=2048)


class SentFile(Placed):
    """A document or picture that a person sends: its name, and its content either as text or in base64."""

    file_name: str = Field(min_length=1)
    mime: str = "application/octet-stream"
    text: str | None = None
    base64: str | None = None
    caption: str = ""


class Edited(Body):
    """A person's own message to change, and its new text."""

    message_id: int
    text: str = Field(min_length=1)


class Deleted(Body):
    """A message that a person deletes."""

    message_id: int
    chat_id: int | None = None


class Pressed(Body):
    """A button that a person clicks, given either by its callback data or by its text.

    With `force` the data is sent even if no button has it. `age` is how many seconds ago the click was made; an old click is still
    delivered, but can no longer be answered.
    """

    message_id: int
    data: str | None = None
    text: str | None = None
    chat_id: int | None = None
    force: bool = False
    age: float = Field(default=0, ge=0)


class Standing(Body):
    """The new state of the bot in a chat, such as "blocked"; null makes the bot a normal member again.

    For a group, `by` is the id of the person who causes the change.
    """

    state: Literal["unstarted", "blocked", "deactivated", "kicked", "left"] | None
    by: int | None = None


class By(Body):
    """Base class of actions on a group; `by` is the id of the person who acts."""

    by: int


class NewTopic(By):
    """A topic to open in a forum (a group with topics)."""

    name: str = Field(min_length=1, max_length=128)


class Members(By):
    """The ids of people to add to a group, and of those to remove from it."""

    add: list[int] = []
    remove: list[int] = []


class ArmedFault(Body):
    """A fault for the bot's next calls of `method`: `skip` calls are handled normally first, then `times` calls get the fault.

    `chat_id` limits it to one chat. Kind "429" has `retry_after`, where null omits the number of seconds from the answer, and `hold`, with
    which all calls to the chat are refused until the wait is over. Kind "refuse" has `code` and `description`. Kinds "timeout" and "slow"
    have `seconds`.
    """

    method: str = ANY_METHOD
    kind: FaultKind
    times: Annotated[int, Field(ge=1, le=100_000)] = 1
    skip: Annotated[int, Field(ge=0, le=100_000)] = 0
    retry_after: int | None = 3
    hold: bool = False
    seconds: float = 90.0
    code: int = 400
    description: str = "Bad Request"
    chat_id: int | None = None


class Limits(Body):
    """Rate limits to apply from now on; a limit that is not given is off.

    With the preset "telegram", limits that are not given are those that Telegram documents.
    """

    preset: Literal["telegram"] | None = None
    chat_per_second: float | None = Field(default=None, gt=0)
    chat_burst: int | None = Field(default=None, ge=1)
    group_per_minute: int | None = Field(default=None, ge=1)
    total_per_second: int | None = Field(default=None, ge=1)
    drafts_per_second: float | None = Field(default=None, gt=0)

    def limits(self) -> RateLimits:
        """Return the limits of the request as a `RateLimits` object, with those of the preset filled in."""
        given = {name: value for name, value in self.model_dump(exclude={"preset"}).items() if value is not None}
        base = DOCUMENTED if self.preset else RateLimits()
        return RateLimits(**{**vars(base), **given})


class Again(Body):
    """A request to send the `last` updates (a number) to the bot again, either unchanged or, with `new_ids`, with new update ids."""

    last: int = Field(default=1, ge=1, le=500)
    new_ids: bool = False


class Advance(Body):
    """The number of seconds by which the sandbox's clock is moved forward."""

    seconds: float = Field(ge=0)


class Language(Body):
    """The language of everybody's Telegram."""

    language_code: Literal["ru", "en"]
