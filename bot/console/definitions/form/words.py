"""Words of schema forms in the person's language; unknown ones are shown as the schema says."""

import re
from typing import Final

from bot.console.visit import Visit

_ROWS: Final = re.compile(r"\s*\((?:S\d{3}-[A-Z]?\d+|A\d+|X\d+|[ ,…]|rune_types\.py|`)+\)|\bOurs: ")


class FormWords:
    def __init__(self, visit: Visit) -> None:
        self._visit = visit
        self._known: dict[tuple[str, ...], str] = {}
        """A form of 500 steps has the same words 500 times."""

    def _say(self, code: str, **args: str) -> str:
        known = (code, *args.values())
        if known not in self._known:
            self._known[known] = self._visit.say(code, **args)
        return self._known[known]

    def name_field(self, owner: str, name: str) -> str:
        own = self._say("console-form-own-name", place=_join(owner, name))
        return own or self._say("console-form-name", name=name, plain=_spell(name))

    def explain_field(self, owner: str, name: str, description: str) -> str:
        sentence = _ROWS.sub("", description)
        return self._say("console-form-hint", place=_join(owner, name), said=sentence[:1].upper() + sentence[1:])

    def name_choice(self, name: str, value: str, description: str) -> str:
        return self._say("console-form-value", place=_join(name, value), value=value, said=description)

    def name_addition(self, name: str) -> str:
        return self._say("console-form-add", name=name)

    def name_more(self) -> str:
        return self._say("console-form-more")

    def name_nothing(self, name: str) -> str:
        """For a choice that is not made."""
        return self._say("console-form-nothing", name=name)


def _join(owner: str, name: str) -> str:
    """Of an inner part, such as a button, the last word counts."""
    return re.sub(r"\W", "_", f"{owner.rsplit('.', 1)[-1]}-{name}".replace("-", "_0_")).replace("_0_", "-")


def _spell(name: str) -> str:
    """ "inputVariable" as "Input variable"."""
    words = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name).replace("_", " ").lower()
    return words[:1].upper() + words[1:]
