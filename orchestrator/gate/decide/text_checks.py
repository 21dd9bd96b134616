"""Refuses texts that mean nothing: an empty title, "null" that a model wrote for a missing value, or a placeholder left unfilled. Pure."""

import re
from collections.abc import Iterator
from typing import Final

from orchestrator.domain.actor import Actor
from orchestrator.gate.call import critical_fields, fields
from orchestrator.gate.call.effect import Call, Refuse
from orchestrator.gate.call.escape_text import escape_text
from orchestrator.gate.call.reasons import refuse

_SHOWN: Final = 60
_NOTHING: Final = re.compile(r"null|none|undefined|nan|\[object object\]|\{\{[^{}]*\}\}|\$\{[^{}]*\}|<[a-z_ ]{1,40}>", re.IGNORECASE)
"""What a program writes where it has no value."""
_TEXT_KINDS: Final = frozenset({"text", "prose"})
_MESSAGES: Final = frozenset({"comment", "postmessage", "subject"})
"""Keys of the fields that hold the text of a comment or message, or the title of an activity; the portal itself refuses blank ones."""


def find_text_problems(call: Call, actor: Actor) -> Iterator[Refuse]:
    """Yield a refusal for each written title that is blank or neither text nor number, and for each text such as "null" or "{{name}}"."""
    if call.reads_only:
        return
    entity = call.entities.get(call.entity)
    title_key = fields.to_field_key(entity.title_field, call.entity) if entity is not None else ""
    for name, value in critical_fields.extract_written_fields(call).items():
        key = fields.to_field_key(name, call.entity)
        info = fields.find_field_info(entity, name)
        is_title = key == title_key and call.entity not in {"comment", "contact"}
        is_text = is_title or key in _MESSAGES or (info is not None and info.kind in _TEXT_KINDS)
        blank = is_title and (not isinstance(value, str | int) or isinstance(value, bool) or not str(value).strip())
        if blank or (is_text and isinstance(value, str) and _NOTHING.fullmatch(value.strip()) is not None):
            title = fields.find_label(entity, name, actor.locale)
            shown = escape_text(str(value if value is not None else ""), locale=actor.locale, limit=_SHOWN)
            yield refuse("gate-value-text", field=title, param=name, value=shown)
