"""Names beside keys, and codes as sentences: what a report needs to speak of people and reasons. Ring 2."""

import re
from collections.abc import Callable, Mapping
from typing import Any, Final

from orchestrator.gate.call.reasons import REFUSALS
from orchestrator.reports.reading.journal_reader import ERASED, to_one_line
from state.journal.store import StoredEvent

_ARGUMENT: Final = re.compile(r"\{(\w+)\}", re.ASCII)
RenderCode = Callable[[str, Mapping[str, Any]], str]
"""The sentence of a code with its arguments; a door's catalogue."""

_NAME_FIELDS = (
    ("requested_by", "requested_by_name"),
    ("approved_by", "approved_by_name"),
    ("denied_by", "denied_by_name"),
    ("person", "name"),
)
_PROGRAM_ACTORS = {"system": "the program itself", "portal": "the portal", "": "nobody named"}


class Narrator:
    """Says who and why. Names are learnt from the events that carry them; for others `name_of` is asked, such as the access file."""

    def __init__(self, say: RenderCode, name_of: Callable[[str], str] = str) -> None:
        """`name_of` gives the name behind a key; "" or the key itself where it knows none."""
        self._say = say
        self._name_of = name_of
        self._names: dict[str, str] = {}

    def remember_names(self, event: StoredEvent) -> None:
        """Remember the names that this event gives."""
        for key, name in _NAME_FIELDS:
            if event.data.get(key) and event.data.get(name):
                self._names[event.data[key]] = event.data[name]

    def find_name(self, key: str) -> str:
        """The name alone, "" for one that is not known."""
        found = self._names.get(key) or self._name_of(key)
        return "" if found == key else to_one_line(found, limit=80)

    def format_person(self, key: str, name: str = "", *, gone: bool = False) -> str:
        """ "Anna (tg:1007)"; the key alone where no name is known."""
        if key in _PROGRAM_ACTORS:
            return _PROGRAM_ACTORS[key]
        shown, known = to_one_line(key, limit=80), to_one_line(name, limit=80) or self.find_name(key)
        if gone and not name:
            return f"{ERASED} ({shown})"
        return f"{known} ({shown})" if known and known != shown else shown

    def render_sentence(self, code: str, args: Mapping[str, Any] | None = None) -> str:
        """The sentence of a code as one line."""
        return to_one_line(self._say(code, args or {}), limit=300)

    def describe_code(self, code: str) -> str:
        """A code alone, whose arguments are not known, as its sentence with the code behind it; a code without a sentence as itself."""
        said = self.render_sentence(code, dict.fromkeys(_ARGUMENT.findall(REFUSALS.get(code, "")), "…"))
        return said if said == code else f"{said} ({code})"

    def describe_reasons(self, reasons: Any) -> list[str]:
        """Why a card asks, each reason once."""
        return list(dict.fromkeys(self.render_sentence(str(reason.get("code", "")), reason.get("args")) for reason in reasons or ()))
