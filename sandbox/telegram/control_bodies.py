"""What the control side is sent: one model per request; an unknown field is a typing mistake and is refused."""

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from sandbox.telegram.faults import ANY_METHOD, FaultKind


class Body(BaseModel):
    """A request of the control side: an unknown field is a typing mistake and is refused."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class NewPerson(Body):
    """A person to add; the private chat gets the same id."""

    id: int = Field(gt=2)
    first_name: str
    username: str = ""
    role: str = "stranger"
    bitrix_id: int | None = None
    language_code: str = "ru"


class NewGroup(Body):
    """A group to open with the bot in it."""

    title: str
    members: list[int]


class Sent(Body):
    """What a person writes."""

    text: str
    chat_id: int | None = None
    reply_to: int | None = None
    forward_from: int | str | None = None
    via_bot: str | None = None


class Edited(Body):
    """How a person changes an own message."""

    message_id: int
    text: str = Field(min_length=1)


class Pressed(Body):
    """Which button a person presses: by its data or by its text; `force` sends the data even if no button has it."""

    message_id: int
    data: str | None = None
    text: str | None = None
    chat_id: int | None = None
    force: bool = False


class ArmedFault(Body):
    """Which calls meet which fault, and how often; `chat_id` narrows it to one chat."""

    method: str = ANY_METHOD
    kind: FaultKind
    times: Annotated[int, Field(ge=1, le=100_000)] = 1
    retry_after: int = 3
    seconds: float = 90.0
    chat_id: int | None = None


class Limits(Body):
    """Flood limits to hold from now on; what is left out is off."""

    chat_per_second: int | None = Field(default=None, ge=1)
    group_per_minute: int | None = Field(default=None, ge=1)
    total_per_second: int | None = Field(default=None, ge=1)


class Advance(Body):
    """By how many seconds the sandbox's clock moves forward."""

    seconds: float = Field(ge=0)
