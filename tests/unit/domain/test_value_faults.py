"""What is wrong with a value that people wrote is said in words of ours, with its place."""

import re
from datetime import date
from pathlib import Path
from typing import Annotated, Literal

import pytest
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError
from pydantic_core._pydantic_core import list_all_errors

from orchestrator.domain.value_faults import describe_fault, describe_faults


class Row(BaseModel):
    model_config = ConfigDict(extra="forbid")
    name: str
    sees: Literal["own", "all"] | list[int] | None = None
    until: date | None = None
    words: list[str] = Field(default=["a"], min_length=1)


ROWS: TypeAdapter[dict[Annotated[str, Field(pattern="^[a-z]+$")], Row]] = TypeAdapter(dict[Annotated[str, Field(pattern="^[a-z]+$")], Row])


@pytest.mark.parametrize("fault", list_all_errors(), ids=lambda fault: fault["type"])
def test_no_words_of_the_library_are_shown(fault: dict[str, object]) -> None:
    """Whatever it may find, a version of it that finds more too: what is unknown is a value of another form."""
    said = describe_fault({"type": fault["type"], "ctx": fault.get("example_context"), "msg": fault["example_message_python"]})
    assert said.endswith(("needed", "add it", "remove it")) or fault["type"] == "union_tag_invalid"
    assert not any(word in said for word in ("Input", "should", "valid ", "instance", "Field"))
    assert describe_fault({"type": "of_a_later_version", "msg": "Input should be new"}) == "a value of another form is needed"


@pytest.mark.parametrize(
    ("written", "says"),
    [
        ([1], "the file: keys with values are needed"),
        ({"a": "text"}, "a: keys with values are needed"),
        ({"a": {}}, "a.name: is missing; add it"),
        ({"a": {"name": 7, "nmae": "x"}}, "a.name: a text is needed; a.nmae: no such key; remove it"),
        ({"a": {"name": "x", "sees": "some"}}, "a.sees: one of 'own' or 'all' is needed, or a list is needed"),
        ({"a": {"name": "x", "sees": [1, "two"]}}, "a.sees: one of 'own' or 'all' is needed; a.sees.1: a whole number is needed"),
        ({"a": {"name": "x", "until": "soon"}}, "a.until: a date such as 2026-12-31 is needed"),
        ({"a": {"name": "x", "words": []}}, "a.words: 1 entries or more are needed"),
        ({"A b": {"name": "x"}}, "A b: a text of the form ^[a-z]+$ is needed"),
    ],
)
def test_a_place_is_that_of_the_file(written: object, says: str) -> None:
    """Without names of types, and what is needed of one value stands together."""
    with pytest.raises(ValidationError) as raised:
        ROWS.validate_python(written)
    assert describe_faults(raised.value, written) == says


LOGGED = {"engines/tool_agent/core/toolbox.py", "orchestrator/directory/reference_reads.py"}
"""What a service or the portal answered wrongly goes to a log only."""


def test_nobody_tells_the_words_of_the_library() -> None:
    """Its "Value error, " and "Input should be" are taken from no fault by what people, models or programs read."""
    root = Path(__file__).parents[3]
    sources = [path for folder in ("bot", "engines", "orchestrator") for path in sorted((root / folder).rglob("*.py"))]
    telling = {path.relative_to(root).as_posix() for path in sources if re.search(r"""\[['"]msg['"]\]""", path.read_text(encoding="utf-8"))}
    assert telling == LOGGED
