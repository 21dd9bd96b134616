"""Gives the portal's rows named fields: records and employees, in classic (TITLE) or new (title) spelling."""

from collections.abc import Mapping
from typing import Annotated

from pydantic import AliasChoices, AliasGenerator, BeforeValidator, ConfigDict, Field, model_validator
from pydantic.alias_generators import to_camel

from orchestrator.domain.frozen import View


def to_number(value: object) -> int:
    """Return the number that the portal writes as a number or as text, 0 for anything else."""
    text = str(value if value is not None else "")
    return int(text) if text.isascii() and text.isdecimal() else 0


Text = Annotated[str, BeforeValidator(lambda value: "" if value is None or value is False else str(value))]
"""A value as text; "" if the portal gives none."""
Number = Annotated[int, BeforeValidator(to_number)]


class RecordRow(View):
    """A record or an employee as far as people read of it; what the row does not have is "" or 0."""

    model_config = ConfigDict(
        alias_generator=AliasGenerator(validation_alias=lambda name: AliasChoices(name.upper(), to_camel(name))), validate_by_name=True
    )

    @model_validator(mode="before")
    @classmethod
    def _drop_blanks(cls, row: object) -> object:
        """Leave out what is blank, so that a value in one spelling counts although the other spelling stands there empty."""
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
        """The first and the last name of a person."""
        return f"{self.name} {self.last_name}".strip()


class User(RecordRow):
    """An employee as far as it is cached: no phone, no address, nothing of unlimited size."""

    id: int = Field(validation_alias="ID")
    active: object = None
    departments: object = Field(None, validation_alias="UF_DEPARTMENT")
