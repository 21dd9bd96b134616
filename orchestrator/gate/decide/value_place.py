"""A written value and the refusals of one. Pure."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from orchestrator.gate.call.effect import Call, Facts, Refuse
from orchestrator.gate.call.escape_text import escape_text
from orchestrator.gate.call.param_kinds import WrittenValue
from orchestrator.gate.call.reasons import format_english, refuse
from orchestrator.language.text import Locale

SHOWN: Final = 60
_MOST_NAMES: Final = 12
_MOST_VALUES: Final = 40
_CODE: Final = re.compile(r"[A-Z0-9_:.-]+", re.ASCII)


@dataclass(frozen=True, kw_only=True)
class Place:
    """`title` is the field's name for people."""

    call: Call
    value: WrittenValue
    facts: Facts
    title: str
    locale: Locale
    in_row: bool = False

    def refuse(self, code: str, item: object, **args: object) -> Refuse:
        quoted = escape_text(format_plainly(item), locale=self.locale, limit=SHOWN)
        return refuse(code, field=self.title, param=self.value.name, value=quoted, **args)

    def refuse_unlisted(self, code: str, item: object, known: Mapping[str, str]) -> Refuse:
        """The person reads the names in `known` (value → name), the model both.

        A word that has a code gets its own reason.
        """
        known_names = [escape_text(name, locale=self.locale, limit=SHOWN) for name in dict.fromkeys(known.values())]
        rest = len(known_names) - _MOST_NAMES
        short_list = (", ".join(known_names[:_MOST_NAMES]) + (f" … +{rest}" if rest > 0 else "")) or "none"
        pairs = ", ".join(f"{value} «{name}»" if value != name else value for value, name in list(known.items())[:_MOST_VALUES])
        is_name = (
            code == "gate-value-choice"
            and isinstance(item, str)
            and item.strip().casefold() in {name.casefold() for name in known.values()}
        )
        notice = self.refuse("gate-value-word" if is_name else code, item, known="").reason
        quoted = "none" if _CODE.fullmatch(str(item)) else notice.args["value"]
        reason = notice.model_copy(update={"args": {**notice.args, "value": quoted, "known": short_list}})
        full = notice.model_copy(update={"args": {**notice.args, "known": pairs or "a value"}})
        return Refuse(reason=reason, detail=format_english(full))


def format_plainly(value: object) -> str:
    """Elements separated by commas."""
    items = value.values() if isinstance(value, Mapping) else value if isinstance(value, list) else None
    return ", ".join(map(format_plainly, items)) if items is not None else "" if value is None else str(value)
