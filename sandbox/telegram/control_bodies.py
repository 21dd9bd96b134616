"""What the control side is sent: one model per request; an unknown field is a typing mistake and is refused."""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from sandbox.telegram.acting import Around, Origin
from sandbox.telegram.faults import ANY_METHOD, FaultKind
from sandbox.telegram.limits import DOCUMENTED, RateLimits
from sandbox.telegram.storage.people import GroupKind


class Body(BaseModel):
    """A request of the control side: an unknown field is a typing mistake and is refused."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class NewPerson(Body):
    """A person to add; the private chat gets the same id. Who never started the bot cannot be written to."""

    id: int = Field(gt=2)
    first_name: str
    username: str = ""
    role: str = "stranger"
    bitrix_id: int | None = None
    language_code: str = "ru"
    started: bool = True


class NewGroup(Body):
    """A group to open with the bot in it; `added_by` lets the bot hear that it was added."""

    title: str
    members: list[int]
    kind: GroupKind = "supergroup"
    added_by: int | None = None


class Placed(Body):
    """Where and how a person writes."""

    chat_id: int | None = None
    thread: int | None = None
    reply_to: int | None = None
    quote: str | None = None
    forward_from: int | str | None = None
    origin: Origin | None = None
    via_bot: str | None = None
    as_chat: Literal["anonymous_admin", "channel"] | None = None

    def around(self) -> Around:
        """Give it as the acting side takes it."""
        return Around(**{name: getattr(self, name) for name in Placed.model_fields})


class Sent(Placed):
    """What a person writes."""

    text: str
    entities: list[dict[str, Any]] | None = None


class Burst(Placed):
    """Several messages written one right after the other."""

    texts: Annotated[list[str], Field(min_length=1, max_length=100)]


class Forwarded(Burst):
    """Messages of somebody else, with a comment of one's own."""

    comment: str = ""
    comment_first: bool = True


class Voice(Placed):
    """A voice message: words, a named sample, or a recording in base64 (`seconds` is its length)."""

    words: str | None = None
    sample: str | None = None
    base64: str | None = None
    seconds: int | None = Field(default=None, ge=0, le=3600)


class SentFile(Placed):
    """A document or picture: its name and its content as text or in base64."""

    file_name: str = Field(min_length=1)
    mime: str = "application/octet-stream"
    text: str | None = None
    base64: str | None = None
    caption: str = ""


class Edited(Body):
    """How a person changes an own message."""

    message_id: int
    text: str = Field(min_length=1)


class Deleted(Body):
    """Which message a person takes away."""

    message_id: int
    chat_id: int | None = None


class Pressed(Body):
    """Which button a person presses: by its data or by its text; `force` sends the data even if no button has it.

    `age` is how many seconds ago: too old to be answered, and still delivered.
    """

    message_id: int
    data: str | None = None
    text: str | None = None
    chat_id: int | None = None
    force: bool = False
    age: float = Field(default=0, ge=0)


class Standing(Body):
    """What keeps the bot out of a chat; null lets it in again. `by` is who did it, for a group."""

    state: Literal["unstarted", "blocked", "deactivated", "kicked", "left"] | None
    by: int | None = None


class By(Body):
    """Who does it."""

    by: int


class NewTopic(By):
    """A topic to open in a forum."""

    name: str = Field(min_length=1, max_length=128)


class Members(By):
    """Who joins and who leaves a group."""

    add: list[int] = []
    remove: list[int] = []


class ArmedFault(Body):
    """Which calls meet which fault: `skip` of them go well first, `times` meet it; `chat_id` narrows it to one chat.

    429: `retry_after` null leaves the number out, `hold` keeps the chat closed until the wait is over.
    refuse: `code` and `description`. timeout, slow: `seconds`.
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
    """Flood limits to hold from now on; what is left out is off, `preset` starts from what Telegram states."""

    preset: Literal["telegram"] | None = None
    chat_per_second: float | None = Field(default=None, gt=0)
    chat_burst: int | None = Field(default=None, ge=1)
    group_per_minute: int | None = Field(default=None, ge=1)
    total_per_second: int | None = Field(default=None, ge=1)
    drafts_per_second: float | None = Field(default=None, gt=0)

    def limits(self) -> RateLimits:
        """Give the limits that are meant."""
        given = {name: value for name, value in self.model_dump(exclude={"preset"}).items() if value is not None}
        base = DOCUMENTED if self.preset else RateLimits()
        return RateLimits(**{**vars(base), **given})


class Again(Body):
    """How many of the latest updates come again: as they were, or under new update ids."""

    last: int = Field(default=1, ge=1, le=500)
    new_ids: bool = False


class Advance(Body):
    """By how many seconds the sandbox's clock moves forward."""

    seconds: float = Field(ge=0)


class Language(Body):
    """The language of everybody's Telegram."""

    language_code: Literal["ru", "en"]
