"""Renders why a card asks for a confirmation, and how risky its call is. Pure."""

from functools import lru_cache

from bot.i18n.translate import Translator
from bot.rendering.headings import MAX_FIELDS, is_number
from bot.rendering.spans import Spans, build_spans, format_bold, join_blocks
from orchestrator.domain.card_view import CardView, Preview
from orchestrator.domain.outputs import Notice
from orchestrator.language.text import Locale, quote
from state.stored import JsonObject

_SUM_REASONS = frozenset({"gate-sum-jump", "gate-sum-lost", "gate-sum-steps"})
"""Codes of reasons about a changed sum, which make the general reason "this field is critical" superfluous for that field."""
_MONEY_AND_PEOPLE = frozenset({
    "OPPORTUNITY", "CURRENCY_ID", "TAX_VALUE", "PRICE", "IS_MANUAL_OPPORTUNITY",
    "ASSIGNED_BY_ID", "RESPONSIBLE_ID", "CREATED_BY", "ACCOMPLICES", "AUDITORS", "OBSERVERS",
})  # fmt: skip
"""Fields of money and of responsible people; if a reason of the card is about one of them, its risk is at least "mid"."""
_UNNAMED, _RECORD_NAMED = "gate-taint-target", "reason-record-unnamed"
"""The code of the reason that the request does not name a record, and that of its sentence if the record's title is known."""
_OWN_ORIGINS = ("edit:", "again:", "undo:")
"""Prefixes of the slots of requests that a person made with a button; there the reason "the model asks" would be wrong and is left out."""
_REACHES_PEOPLE = frozenset({"gate-notifies", "gate-hidden-link"})
"""Reasons to ask because of what colleagues will get or follow."""


def evaluate_risk(view: CardView) -> str:
    """Return the level of risk that the card shows: "high" for what cannot be undone, "mid" for money and people, otherwise "low"."""
    card, classes = view.card, set(view.card.call_class)
    if "D" in classes or card.taps > 1:
        return "high"
    fields = {_find_field(reason) for reason in view.reasons}
    touched = classes & {"C", "M", "N"} or fields & _MONEY_AND_PEOPLE or any(reason.code in _REACHES_PEOPLE for reason in view.reasons)
    return "mid" if touched or card.four_eyes or card.lead else "low"


def _find_field(reason: Notice) -> str:
    """Return the code of the field that a reason for confirmation is about, "" if it is about none."""
    return str(reason.args.get("field") or "")


def _name_reason(reason: Notice, preview: Preview, tr: Translator) -> JsonObject:
    """Return the arguments of the sentence for `reason`, with the names that the card itself has for what it is about.

    The code of a field for which the Fluent files have no word is replaced by the name that the card shows in its list of changes
    (`preview`). For a record that the request does not name, the title of its row is added as `title`.
    """
    parts = (preview, *preview.items)
    if _find_code(reason) == _UNNAMED and "title" not in reason.args:
        place = f"{reason.args.get('entity')}:{reason.args.get('id')}"
        title = next((part.title for part in parts if part.record == place and not is_number(part.title)), "")
        return {**reason.args, "title": title} if title else reason.args
    field = _find_field(reason)
    if not field or not _has_no_word(field, tr.locale):
        return reason.args
    wanted = field.replace("_", "").lower()
    name = next((line.name for part in parts for line in part.lines if line.field.replace("_", "").lower() == wanted), "")
    return {**reason.args, "field": quote(name, tr.locale)} if name else reason.args


@lru_cache(maxsize=1024)
def _has_no_word(field: str, locale: Locale) -> bool:
    """Return whether the Fluent files, which are read once, have no word for this field; each look goes through all their words."""
    tr = Translator(locale)
    return tr.translate("gate-field", field=field) == tr.translate("gate-field", field="\0").replace("\0", field)


def _find_code(reason: Notice) -> str:
    """Return the code of a reason; for the reason of one command of a batch the code of what is wrapped in it."""
    return str(reason.args.get("reason") or reason.code) if reason.code == "gate-batch-asks" else reason.code


def _render_reason(reason: Notice, preview: Preview, tr: Translator) -> str:
    code, args = _find_code(reason), _name_reason(reason, preview, tr)
    return tr.translate(_RECORD_NAMED if code == _UNNAMED and "title" in args else code, **args)


def list_reasons(view: CardView, tr: Translator) -> list[str]:
    """Return the reasons why a confirmation is needed, one text per kind of reason.

    A reason that several commands of a batch have is given once, with the number of further commands.
    """
    found: dict[str, list[str]] = {}
    sharp = {_find_field(reason) for reason in view.reasons if reason.code in _SUM_REASONS}
    own = view.card.slot.startswith(_OWN_ORIGINS)
    for reason in view.reasons:
        if own and reason.code == "gate-model-asks":
            continue
        if reason.code == "gate-critical" and _find_field(reason) in sharp:
            continue
        text = _render_reason(reason, view.preview, tr)
        group = found.setdefault(_find_code(reason), [])
        if text not in group:
            group.append(text)
    return [_join_texts(code, texts, view, tr) for code, texts in found.items()]


def _join_texts(code: str, texts: list[str], view: CardView, tr: Translator) -> str:
    """Return one text for reasons of one kind: changed fields if they are few and have names, otherwise the first and how many follow."""
    if len(texts) == 1:
        return texts[0]
    if code == "gate-critical" and len(texts) <= MAX_FIELDS:
        same = [reason for reason in view.reasons if _find_code(reason) == code]
        named = [(_find_field(reason), str(_name_reason(reason, view.preview, tr).get("field") or "")) for reason in same]
        if not any(field == name and _has_no_word(field, tr.locale) for field, name in named):
            fields = dict.fromkeys(tr.translate("gate-field", field=name) for _, name in named)
            return tr.translate("reason-fields", fields=", ".join(fields))
    return tr.translate("reason-more", text=texts[0], count=len(texts) - 1)


def render_reasons(view: CardView, tr: Translator) -> Spans:
    """Return a list of all reasons why the call needs a confirmation, without repetitions. Texts of company rules are shown as written."""
    said = dict.fromkeys(_render_whole_reason(reason, view.preview, tr) for reason in view.reasons)
    if not said:
        return ()
    return build_spans(format_bold(tr.translate("details-why")), "\n", join_blocks([build_spans(f"• {text}") for text in said], "\n"))


def _render_whole_reason(reason: Notice, preview: Preview, tr: Translator) -> str:
    """Return a reason with the command of a batch that it is about."""
    if _find_code(reason) != _UNNAMED:
        return tr.translate_notice(reason)
    said = _render_reason(reason, preview, tr)
    return said if reason.code == _UNNAMED else tr.translate("batch-command", **reason.args) + said
