"""Gives reports the names of people instead of their keys ("tg:1007"), and sentences instead of codes ("gate-delete")."""

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
"""A function that returns the sentence for a code and its arguments, taken from the text catalogue of a channel."""

_NAME_FIELDS = (
    ("requested_by", "requested_by_name"),
    ("approved_by", "approved_by_name"),
    ("denied_by", "denied_by_name"),
    ("person", "name"),
)
_PROGRAM_ACTORS = {"system": "the program itself", "portal": "the portal", "": "nobody named"}


class Narrator:
    """Finds the names of people and the sentences for codes, for use in reports.

    A name comes from the events passed to `remember_names`. If these do not give it, it comes from `name_of` (the access file).
    """

    def __init__(self, say: RenderCode, name_of: Callable[[str], str] = str) -> None:
        """Keep the functions that render codes and find names. For an unknown person, `name_of` returns "" or the key itself."""
        self._say = say
        self._name_of = name_of
        self._names: dict[str, str] = {}

    def remember_names(self, event: StoredEvent) -> None:
        """Remember the names of people that this event holds."""
        for key, name in _NAME_FIELDS:
            if event.data.get(key) and event.data.get(name):
                self._names[event.data[key]] = event.data[name]

    def find_name(self, key: str) -> str:
        """Return the name of the person with this key; "" if it is not known."""
        found = self._names.get(key) or self._name_of(key)
        return "" if found == key else to_one_line(found, limit=80)

    def format_person(self, key: str, name: str = "", *, gone: bool = False) -> str:
        """Return the name and the key as in "Anna (tg:1007)"; only the key if no name is known.

        `name` is preferred to the known name. `gone` means that the name was erased: without `name` the text is then "(erased) (tg:1007)".
        The key "system" gives "the program itself"; there are a few more keys of this kind.
        """
        if key in _PROGRAM_ACTORS:
            return _PROGRAM_ACTORS[key]
        shown, known = to_one_line(key, limit=80), to_one_line(name, limit=80) or self.find_name(key)
        if gone and not name:
            return f"{ERASED} ({shown})"
        return f"{known} ({shown})" if known and known != shown else shown

    def render_sentence(self, code: str, args: JsonObject | None = None) -> str:
        """Return the sentence for a code and its arguments as one line."""
        return to_one_line(self._say(code, args or {}), limit=300)

    def describe_code(self, code: str) -> str:
        """Return the sentence for a code without its arguments, followed by the code in brackets; only the code if it has no sentence."""
        sentence = self.render_sentence(code, dict.fromkeys(_ARGUMENT.findall(REFUSALS.get(code, "")), "…"))
        return sentence if sentence == code else f"{sentence} ({code})"

    def describe_reasons(self, reasons: Iterable[JsonObject] | None) -> list[str]:
        """Return the sentences that say why a card was needed, each once; `reasons` are the notices stored with the card."""
        notices = (Notice.model_validate(reason) for reason in reasons or ())
        return list(dict.fromkeys(self.render_sentence(notice.code, notice.args) for notice in notices))
