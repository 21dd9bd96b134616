"""Rows of records, spelled classic (TITLE) or new (title)."""

from collections.abc import Mapping
from typing import Annotated, Final

from pydantic import AliasChoices, AliasGenerator, BeforeValidator, ConfigDict, Field, model_validator
from pydantic.alias_generators import to_camel

from orchestrator.domain.frozen import View
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
    title: Text = Field("", validation_alias=AliasChoices("TITLE", "title", "SUBJECT"))
    name: Text = ""
    last_name: Text = ""
    post: Text = ""
    work_position: Text = ""
    opportunity: object = None
    currency_id: Text = ""
    stage: Text = Field("", validation_alias=AliasChoices("STAGE_ID", "STATUS_ID", "stageId"))
    category_id: Number = 0
    status: Text = ""
    closed: object = None
    company_id: Number = 0
    company_title: Text = ""
    time_zone: Text = ""

    @property
    def full_name(self) -> str:
        return f"{self.name} {self.last_name}".strip()


class User(RecordRow):
    """No phone, no address, nothing of unlimited size."""

    id: int = Field(validation_alias="ID")
    active: object = None
    departments: object = Field(None, validation_alias="UF_DEPARTMENT")
