"""Whether all that a card would write stands in the person's own plain words, though these order nothing: «доставка — курьером».

It only chooses the words by which the card says so; what asks, and why, stays.
"""

from collections.abc import Sequence
from typing import Final

from orchestrator.domain.card_view import Preview, PreviewLine
from orchestrator.domain.effect import Provenance
from orchestrator.domain.outputs import Notice
from orchestrator.gate.call import fields
from orchestrator.gate.call.effect import Call, Facts
from orchestrator.gate.decide.field_checks import find_list_name
from orchestrator.language.lexicon import load_lexicon
from orchestrator.language.money_parser import find_amounts
from orchestrator.language.text import Locale
from orchestrator.language.word_runs import says, says_in_forms

NOT_ORDERED: Final = "gate-not-ordered"
TOLD: Final = "told"
_DOUBTED: Final = frozenset({"gate-taint-prose", "gate-taint-value", "gate-taint-target", "gate-not-plain", "gate-sum-unnamed"})
_FLAGS: Final = {locale: frozenset(load_lexicon("card_fields").read_table("flags", locale).values()) for locale in ("ru", "en")}
_CHOSEN: Final = frozenset({"enumeration", "crm_status", "boolean"})


def mark_told(
    reasons: Sequence[Notice], call: Call, preview: Preview, facts: Facts, provenance: Provenance, locale: Locale
) -> tuple[Notice, ...]:
    told = _is_told(reasons, call, preview, facts, provenance, locale)
    return tuple(one.model_copy(update={"args": {**one.args, TOLD: "yes"}}) if told and one.code == NOT_ORDERED else one for one in reasons)


def _is_told(reasons: Sequence[Notice], call: Call, preview: Preview, facts: Facts, provenance: Provenance, locale: Locale) -> bool:
    codes = {reason.code for reason in reasons}
    message = provenance.message
    if NOT_ORDERED not in codes or codes & _DOUBTED or message is None or not message.is_plain or provenance.prose or provenance.pasted:
        return False
    written = {name: value for name, value in call.written_fields.items() if name not in call.system_fields}
    lines = {line.field: line for line in preview.lines}
    return (
        call.kind == "bitrix"
        and bool(written)
        and all(_tells(provenance.person_text, call, name, value, lines.get(name), facts, locale) for name, value in written.items())
    )


def _tells(text: str, call: Call, name: str, value: object, line: PreviewLine | None, facts: Facts, locale: Locale) -> bool:
    """In whatever ending only names of the portal's own lists and fields: they are nobody's text."""
    if any(path.rpartition(".")[2] == name for path in (*call.spec.target, call.spec.target_entity.removeprefix("@"))):
        return True
    if line is None or not isinstance(value, str | int | float) or isinstance(value, bool):
        return False
    known = facts.field_lists.get(find_list_name(call), {}).get(name)
    if known is not None and known.type in _CHOSEN:
        return says_in_forms(text, line.name if line.after in _FLAGS[locale] else line.after)
    info = fields.find_field_info(call.entities.get(call.entity), call.spec.stands_for.get(name, name))
    if info is not None and info.kind == "money":
        numbers = {number for _, number in call.targets}
        return (number := fields.parse_number(value)) not in numbers and number in {one.amount for one, _, _ in find_amounts(text)}
    return isinstance(value, str) and any(map(str.isalpha, value)) and line.after == value and says(text, value)
