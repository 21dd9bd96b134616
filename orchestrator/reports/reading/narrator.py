"""Names of people instead of keys ("tg:1007"), and sentences instead of codes ("gate-delete")."""

import re
from collections.abc import Callable, Iterable
from typing import Final

from orchestrator.domain.outputs import Notice
from orchestrator.gate.call.reasons import REFUSALS
from orchestrator.reports.reading.journal_reader import ERASED, to_one_line
from state.journal.store import StoredEvent
from state.stored import JsonObject

_ARGUMENT: Final = re.compile(r"\{(\w+)\}", re.ASCII)
RenderCode = Callable[[str, JsonObject], str]
"""(code, arguments) → sentence, from the text catalogue of a channel."""

_NAME_FIELDS = (
    ("requested_by", "requested_by_name"),
    ("approved_by", "approved_by_name"),
    ("denied_by", "denied_by_name"),
    ("person", "name"),
)
_PROGRAM_ACTORS = {"system": "the program itself", "portal": "the portal", "": "nobody named"}


class Narrator:
    """A name comes from the remembered events, otherwise from `name_of` (the access file)."""

    def __init__(self, say: RenderCode, name_of: Callable[[str], str] = str) -> None:
        """For an unknown person `name_of` returns "" or the key itself."""
        self._say = say
        self._name_of = name_of
        self._names: dict[str, str] = {}

    def remember_names(self, event: StoredEvent) -> None:
        for key, name in _NAME_FIELDS:
            if event.data.get(key) and event.data.get(name):
                self._names[event.data[key]] = event.data[name]

    def find_name(self, key: str) -> str:
        """Empty if it is not known."""
        name = self._names.get(key) or self._name_of(key)
        return "" if name == key else to_one_line(name, limit=80)

    def format_person(self, key: str, name: str = "", *, gone: bool = False) -> str:
        """Such as "Anna (tg:1007)"; the key if no name is known, "(erased) (tg:1007)" if it is `gone`."""
        if key in _PROGRAM_ACTORS:
            return _PROGRAM_ACTORS[key]
        key_text, known = to_one_line(key, limit=80), to_one_line(name, limit=80) or self.find_name(key)
        if gone and not name:
            return f"{ERASED} ({key_text})"
        return f"{known} ({key_text})" if known and known != key_text else key_text

    def render_sentence(self, code: str, args: JsonObject | None = None) -> str:
        return to_one_line(self._say(code, args or {}), limit=300)

    def describe_code(self, code: str) -> str:
        """The code in brackets follows its sentence; it stands alone if there is none."""
        sentence = self.render_sentence(code, dict.fromkeys(_ARGUMENT.findall(REFUSALS.get(code, "")), "…"))
        return sentence if sentence == code else f"{sentence} ({code})"

    def describe_reasons(self, reasons: Iterable[JsonObject] | None) -> list[str]:
        """Each once; `reasons` are the notices stored with the card."""
        notices = (Notice.model_validate(reason) for reason in reasons or ())
        return list(dict.fromkeys(self.render_sentence(notice.code, notice.args) for notice in notices))
