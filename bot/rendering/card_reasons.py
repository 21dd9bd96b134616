"""Renders why a card asks for a confirmation, and how risky its call is. Pure."""

from collections.abc import Sequence
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
MOST_REASONS = 2
_FIRST = frozenset({
    "gate-denied-before", "gate-hands-away", "gate-notifies", "gate-hidden-link", "gate-class-delete", "gate-class-outward",
    "gate-http-outward", "gate-sum-unnamed", "gate-sum-lost", "gate-sum-jump", "gate-sum-steps", "gate-sum-currency", "gate-rule",
    "gate-four-eyes", "changed", "gate-batch-twice",
})  # fmt: skip
"""Codes of reasons that nobody may overlook, so that they stand before the others."""
_ONLY_ASKED, _COMPARED = "gate-only-asked", "gate-compared"
_DOUBTS = (_ONLY_ASKED, "gate-not-ordered", _UNNAMED, "gate-taint-prose", "gate-more-than-ordered", "gate-not-plain", "gate-beside")
"""Reasons about the message and not about the change, by their weight: a card says one of them."""
_ABOUT_WORDS = frozenset({_COMPARED, "gate-replaces", "gate-no-addition", "gate-leaves-out"})
"""Reasons about the change that tell nothing of whether it was wanted, so that a doubt stands beside them."""
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


def list_reasons(view: CardView, tr: Translator, *, about_fields: bool | None = None) -> list[str]:
    """Return the reasons why a confirmation is needed, one text per kind of reason, at most two: the details view has all of them.

    A reason that several commands of a batch have is given once, with the number of further commands. With `about_fields` only those are
    returned that say which critical fields change, or only the others.
    """
    found: dict[str, list[str]] = {}
    sharp = {_find_field(reason) for reason in view.reasons if reason.code in _SUM_REASONS}
    own = view.card.slot.startswith(_OWN_ORIGINS)
    for reason in _select_reasons(view.reasons):
        if (own and reason.code == "gate-model-asks") or about_fields is (_find_code(reason) != "gate-critical"):
            continue
        if reason.code == "gate-critical" and _find_field(reason) in sharp:
            continue
        text = _render_reason(reason, view.preview, tr)
        group = found.setdefault(_find_code(reason), [])
        if text not in group:
            group.append(text)
    weightiest = sorted(found, key=lambda code: (code not in _FIRST, code in _DOUBTS))
    return [_join_texts(code, found[code], view, tr) for code in weightiest[:MOST_REASONS]]


def _select_reasons(reasons: Sequence[Notice]) -> list[Notice]:
    """Return the reasons that say something to a person: doubts about the message only where nothing about the change itself is said.

    Of the doubts the first in `_DOUBTS` counts. Beside a reason such as a changed sum only two are said: that the person only asked, and
    that nobody named the record.
    """
    codes = set(map(_find_code, reasons))
    doubts = {code for code in codes if code in _DOUBTS} - ({_UNNAMED} if _COMPARED in codes else set())
    told = next((code for code in _DOUBTS if code in doubts), "")
    facts = [reason for reason in reasons if _find_code(reason) not in _DOUBTS]
    if told != _ONLY_ASKED and any(_find_code(reason) not in _ABOUT_WORDS for reason in facts):
        told = _UNNAMED if _UNNAMED in doubts else ""
    return [reason for reason in reasons if _find_code(reason) not in _DOUBTS or _find_code(reason) == told]


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
