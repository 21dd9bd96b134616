"""Names the record that an earlier command of the batch makes, where a later one refers to it. Pure."""

from collections.abc import Sequence
from typing import Final

from orchestrator.domain.card_view import PreviewPart
from orchestrator.gate.call.effect import Call
from orchestrator.gate.call.escape_text import escape_text
from orchestrator.gate.normalize.batch import NEW_ID_PLACES
from orchestrator.gate.preview.format_values import FROM_COMMAND
from orchestrator.gate.preview.record_titles import find_new_title
from orchestrator.language.lexicon import load_lexicon
from orchestrator.language.text import Locale, quote

_NEW: Final = load_lexicon("card_fields").read_titles("new_record")
_TITLE: Final = 80


def name_made_records(items: Sequence[PreviewPart], commands: Sequence[Call], locale: Locale) -> list[PreviewPart]:
    """«ООО Гранит» (новая запись) in place of `$result[company]`. Any other part of an answer stays as it is written."""
    names: dict[str, str] = {}
    for call in commands:
        title = escape_text(find_new_title(call), locale=locale, limit=_TITLE) if call.method in NEW_ID_PLACES else ""
        if title:
            reference = FROM_COMMAND[locale].format(value=f"$result[{call.key}]{NEW_ID_PLACES[call.method]}")
            names[reference] = _NEW[locale].format(title=quote(title, locale))
    if not names:
        return list(items)
    return [
        item.model_copy(update={"lines": [line.model_copy(update={"after": names.get(line.after, line.after)}) for line in item.lines]})
        for item in items
    ]
