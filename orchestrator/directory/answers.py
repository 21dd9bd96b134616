from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from html import unescape
from typing import Annotated, Final

from pydantic import AliasChoices, AliasGenerator, BeforeValidator, ConfigDict, Field, model_validator
from pydantic.alias_generators import to_camel

from orchestrator.domain.frozen import View
from orchestrator.domain.message_views import DailyBody
from orchestrator.domain.outputs import Notice, Passage, Table
from orchestrator.domain.report import ReportAnswer
from orchestrator.language.text import to_visible_line, trim_text
from state.stored import JsonObject


def to_number(value: object) -> int:
    """0 for anything but digits."""
    text = str(value if value is not None else "")
    return int(text) if text.isascii() and text.isdecimal() else 0


def name_organisation(row: JsonObject) -> list[str]:
    """A requisite's own title is mostly the same for all companies."""
    texts = (row.get("RQ_COMPANY_NAME") or row.get("RQ_NAME"), row.get("RQ_INN"))
    return [trim_text(to_visible_line(value), limit=_ORGANISATION) for value in texts if value and isinstance(value, str)]


_ORGANISATION: Final = 60
Text = Annotated[str, BeforeValidator(lambda value: "" if value is None or value is False else str(value))]
"""Empty for None and False, with which the portal says that there is none."""
Title = Annotated[str, BeforeValidator(lambda value: "" if value is None or value is False else unescape(str(value)))]
"""The portal gives names with entities: «Кабель &quot;ВВГ&quot;»."""
Number = Annotated[int, BeforeValidator(to_number)]


class RecordRow(View):
    """A missing field is "", 0 or None."""

    model_config = ConfigDict(
        alias_generator=AliasGenerator(validation_alias=lambda name: AliasChoices(name.upper(), to_camel(name))), validate_by_name=True
    )

    @model_validator(mode="before")
    @classmethod
    def _drop_blanks(cls, row: object) -> object:
        """A row may have both spellings of a field, one of them blank."""
        return {name: value for name, value in row.items() if value is not None and value != ""} if isinstance(row, Mapping) else row

    id: Number = 0
    title: Title = Field("", validation_alias=AliasChoices("TITLE", "title", "SUBJECT"))
    name: Title = ""
    last_name: Title = ""
    post: Text = ""
    work_position: Text = ""
    opportunity: object = None
    currency_id: Text = ""
    stage: Text = Field("", validation_alias=AliasChoices("STAGE_ID", "STATUS_ID", "stageId"))
    category_id: Number = 0
    status: Text = ""
    closed: object = None
    company_id: Number = 0
    company_title: Title = ""
    time_zone: Text = ""

    @property
    def full_name(self) -> str:
        return f"{self.name} {self.last_name}".strip()


class User(RecordRow):
    """No phone, no address, nothing of unlimited size."""

    id: int = Field(validation_alias="ID")
    active: object = None
    departments: object = Field(None, validation_alias="UF_DEPARTMENT")


@dataclass(frozen=True, kw_only=True)
class Resolved:
    """Exactly one meaning. `target` is "deal:481", or "" if it is no record; `named_by_person`: their own message names it."""

    value: object
    label: str = ""
    target: str = ""
    named_by_person: bool = False


@dataclass(frozen=True, kw_only=True)
class Option:
    """A possible meaning of a reference, shown as a button."""

    value: object
    label: str
    target: str = ""


@dataclass(frozen=True, kw_only=True)
class Ambiguous:
    ask: Notice
    options: tuple[Option, ...]
    beyond: tuple[Option, ...] = ()
    """They fit, too, and are not offered."""
    is_guess: bool = False
    """Nothing has that name; the options are only spelt like it."""

    @property
    def fitting(self) -> tuple[Option, ...]:
        return (*self.options, *self.beyond)


@dataclass(frozen=True, kw_only=True)
class Unresolved:
    """No usable meaning: nothing or too much has that name, or the value is not allowed."""

    notice: Notice
    detail: str
    """In English, for the model."""


Resolution = Resolved | Ambiguous | Unresolved


@dataclass(frozen=True, kw_only=True)
class DatedParams:
    """`bounds` tells the model what periods were taken for: "DATE_CREATE 2026-10-01..2026-10-31"."""

    params: JsonObject
    bounds: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class AskedDate:
    reference: str
    several: Ambiguous


@dataclass(frozen=True, kw_only=True)
class OutcomeView:
    """The model reads `rows` and `text`, the person sees `table`.

    `prose`: free text of others stands in `rows` or `text`. `titles` are by key ("deal:481").
    """

    rows: tuple[JsonObject, ...] = ()
    table: Table | None = None
    total: int | None = None
    sum_text: str = ""
    labels: tuple[str, ...] = ()
    prose: bool = False
    titles: Mapping[str, str] = field(default_factory=dict)
    text: str = ""
    report: ReportAnswer | None = None
    day: DailyBody | None = None
    passages: tuple[Passage, ...] = ()
    """The person is shown them below the answer."""


@dataclass(frozen=True, kw_only=True)
class ColumnedTable:
    table: Table
    unknown: tuple[str, ...] = ()


_MOST_OFFERED: Final = 6


def build_choice(ask: Notice, options: tuple[Option, ...]) -> Ambiguous:
    """Offers the first six; the question says how many more there are."""
    offered, beyond = options[:_MOST_OFFERED], options[_MOST_OFFERED:]
    whole = Notice(code="which-of-more", args={"question": ask.model_dump(mode="json"), "more": len(beyond)}) if beyond else ask
    return Ambiguous(ask=whole, options=offered, beyond=beyond)


def build_guess(code: str, words: str, options: tuple[Option, ...]) -> Ambiguous:
    """`code` is that of the question, such as "nearest-user"."""
    return Ambiguous(ask=Notice(code=code, args={"name": words}), options=options, is_guess=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundRecords:
    """`problem` says why there are none."""

    tables: Sequence[Table] = ()
    problem: Notice | None = None
    is_prose: bool = False


FindRecords = Callable[[str], Awaitable[FoundRecords]]
