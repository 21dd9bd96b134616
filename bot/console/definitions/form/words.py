"""The words of forms that are made from a JSON Schema: names of fields, sentences under them and names of values, in the person's language.

What the Fluent files do not know, such as fields of plugins, is shown as the schema says it.
"""

import re
from typing import Final

from bot.console.visit import Visit

_ROWS: Final = re.compile(r"\s*\((?:S\d{3}-[A-Z]?\d+|A\d+|X\d+|[ ,…]|rune_types\.py|`)+\)|\bOurs: ")
"""What sentences of schemas say for programmers alone."""


class FormWords:
    """The words for one person."""

    def __init__(self, visit: Visit) -> None:
        """Speak the language of the person."""
        self._visit = visit
        self._known: dict[tuple[str, ...], str] = {}
        """What was said before: a form of 500 steps has the same words 500 times."""

    def _say(self, code: str, **args: str) -> str:
        known = (code, *args.values())
        if known not in self._known:
            self._known[known] = self._visit.say(code, **args)
        return self._known[known]

    def name_field(self, owner: str, name: str) -> str:
        """Return what a field is called."""
        own = self._say("console-form-own-name", place=_join(owner, name))
        return own or self._say("console-form-name", name=name, plain=_spell(name))

    def explain_field(self, owner: str, name: str, description: str) -> str:
        """Return the sentence under a field."""
        said = _ROWS.sub("", description)
        return self._say("console-form-hint", place=_join(owner, name), said=said[:1].upper() + said[1:])

    def name_choice(self, name: str, value: str, description: str) -> str:
        """Return what people read for one of the values of a field."""
        return self._say("console-form-value", place=_join(name, value), value=value, said=description)

    def name_addition(self, name: str) -> str:
        """Return what stands on the button that adds an element to a list."""
        return self._say("console-form-add", name=name)

    def name_more(self) -> str:
        """Return what the group of rare fields is called."""
        return self._say("console-form-more")

    def name_nothing(self, name: str) -> str:
        """Return what people read for a choice that is not made."""
        return self._say("console-form-nothing", name=name)


def _join(owner: str, name: str) -> str:
    """Return the word of the Fluent files for a field: of an inner part, such as a button, its last word counts."""
    return re.sub(r"\W", "_", f"{owner.rsplit('.', 1)[-1]}-{name}".replace("-", "_0_")).replace("_0_", "-")


def _spell(name: str) -> str:
    """Return a name of a field as words: "inputVariable" as "Input variable"."""
    words = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name).replace("_", " ").lower()
    return words[:1].upper() + words[1:]
