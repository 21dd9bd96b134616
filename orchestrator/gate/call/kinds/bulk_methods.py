from collections.abc import Mapping
from typing import Any, Final, Literal

from pydantic import Field, StrictInt, StrictStr

from orchestrator.domain.bulk import BULK, CHANGE_ALL, HAND_OVER, MOST_RECORDS, UNDO_ALL
from orchestrator.gate.call.kinds.file_methods import KindParams
from orchestrator.gate.call.kinds.method import KindMethod, build_kind_method
from state.canonical import hash_text
from state.journal.run_index import PREFIX

KIND: Final = BULK
PERSON, MARK, DIGEST = "person", "ORIGIN_ID", "digest"
"""Always set by the program: who asked, the effect, and the frozen file that the card shows."""
Counted = Literal["deals", "leads", "contacts", "companies", "tasks"]
COUNTED_KINDS: Final[tuple[Counted, ...]] = ("deals", "leads", "contacts", "companies", "tasks")
HandedKind = Literal["deals", "leads", "contacts", "companies", "tasks", "activities"]


class FrozenParams(KindParams):
    person: StrictStr = ""
    ORIGIN_ID: StrictStr = ""
    digest: StrictStr = Field(default="", max_length=64)


class Addition(KindParams):
    """What is made for each record; "{TITLE}" in a text stands for that field of the record."""

    method: StrictStr = Field(min_length=1, max_length=100)
    fields: dict[str, Any] = Field(min_length=1)


class ChangeAll(FrozenParams):
    of: StrictStr = Field(min_length=1, max_length=40)
    filter: dict[str, Any] = Field(default_factory=dict)
    fields: dict[str, Any] = Field(default_factory=dict)
    add: Addition | None = None
    order: dict[str, Literal["ASC", "DESC", "asc", "desc"]] = Field(default_factory=dict, max_length=1)
    limit: StrictInt = Field(default=0, ge=0, le=MOST_RECORDS)
    """Only the first so many by `order`; 0 for all."""


class HandOver(FrozenParams):
    """All that is open of one person goes to others, evenly if there are several."""

    from_user: StrictInt = Field(alias="from", ge=1)
    to: list[StrictInt] = Field(min_length=1, max_length=20)
    what: list[HandedKind] = Field(default_factory=list, max_length=6)


class UndoAll(FrozenParams):
    run: StrictStr = Field(min_length=1, max_length=64)
    record: StrictStr = Field(default="", max_length=60)
    """The only one that comes back, such as "deal:481"; "" for all."""


METHODS: Final[Mapping[str, KindMethod]] = {
    CHANGE_ALL: build_kind_method(CHANGE_ALL, "W", "update", ChangeAll),
    HAND_OVER: build_kind_method(HAND_OVER, "W", "update", HandOver),
    UNDO_ALL: build_kind_method(UNDO_ALL, "W", "update", UndoAll),
}


def build_run_key(effect_id: str) -> str:
    """The same each time: one approval never starts two runs."""
    digits = hash_text(f"{BULK}/{effect_id}")
    return f"{PREFIX}{digits[:8]}-{digits[8:12]}-8{digits[13:16]}-a{digits[17:20]}-{digits[20:32]}"
