from collections.abc import Collection, Sequence
from functools import lru_cache

from bot.i18n.translate import Translator
from bot.rendering.headings import MAX_FIELDS, is_number
from bot.rendering.spans import Spans, build_spans, format_bold, join_blocks
from orchestrator.domain.card_view import CardView, Preview
from orchestrator.domain.outputs import Notice
from orchestrator.language.text import Locale, quote
from state.stored import JsonObject

_SUM_REASONS = frozenset({"gate-sum-jump", "gate-sum-lost", "gate-sum-steps"})
"""Beside these "this field is critical" is superfluous."""
_MONEY_AND_PEOPLE = frozenset({
    "OPPORTUNITY", "CURRENCY_ID", "TAX_VALUE", "PRICE", "IS_MANUAL_OPPORTUNITY",
    "ASSIGNED_BY_ID", "RESPONSIBLE_ID", "CREATED_BY", "ACCOMPLICES", "AUDITORS", "OBSERVERS",
})  # fmt: skip
"""Their risk is at least "mid"."""
_UNNAMED, _RECORD_NAMED = "gate-taint-target", "reason-record-unnamed"
"""The request names no record; its title is known."""
MOST_REASONS = 2
_FIRST = frozenset({
    "gate-denied-before", "gate-hands-away", "gate-notifies", "gate-hidden-link", "gate-class-delete", "gate-class-outward",
    "gate-list-passed", "gate-http-outward", "gate-sum-unnamed", "gate-sum-lost", "gate-sum-jump", "gate-sum-steps", "gate-sum-currency",
    "gate-rule", "gate-four-eyes", "changed", "gate-batch-twice", "gate-call-partner",
})  # fmt: skip
_ASTRAY = frozenset({"gate-call-stranger", "gate-address-foreign", "gate-address-nobody"})
"""It may go to somebody else than the person thinks: no other reason may take their place."""
_REFERENCE = "gate-reference-field"
_ONLY_ASKED, _COMPARED = "gate-only-asked", "gate-compared"
_NOT_ORDERED, _TOLD = "gate-not-ordered", "reason-told"
"""The request orders nothing; it says all that the card would write."""
_DOUBTS = (_ONLY_ASKED, _NOT_ORDERED, _UNNAMED, "gate-taint-prose", "gate-more-than-ordered", "gate-not-plain", "gate-beside")
"""About the message, by weight: a card says one of them."""
COUNTED = "gate-more-than-ordered"
"""A plan says the number of its steps anyway."""
_ABOUT_WORDS = frozenset({_COMPARED, "gate-replaces", "gate-no-addition", "gate-leaves-out"})
"""They leave open whether the change was wanted."""
_SAYS_ONLY_THAT_IT_ASKS = frozenset({"gate-critical-action", "gate-no-addition", "gate-undo"})
"""The heading says what is done: «Завершить задачу», «Вернуть, как было»."""
_OWN_ORIGINS = ("edit:", "again:", "undo:")
"""Made with a button: "the model asks" would be wrong."""
_REACHES_PEOPLE = frozenset({"gate-notifies", "gate-hidden-link"})


def evaluate_risk(view: CardView) -> str:
    """ "high" for what cannot be undone, "mid" for money and people, otherwise "low"."""
    card, classes = view.card, set(view.card.call_class)
    if "D" in classes or card.taps > 1:
        return "high"
    fields = {_find_field(reason) for reason in view.reasons}
    touched = classes & {"C", "M", "N"} or fields & _MONEY_AND_PEOPLE or any(reason.code in _REACHES_PEOPLE for reason in view.reasons)
    return "mid" if touched or card.four_eyes or card.lead else "low"


def _find_field(reason: Notice) -> str:
    return str(reason.args.get("field") or "")


def _name_reason(reason: Notice, preview: Preview, tr: Translator) -> JsonObject:
    """With names of the card for what the Fluent files or the request do not name."""
    parts = (preview, *preview.items)
    if _find_code(reason) == _UNNAMED and "title" not in reason.args:
        place = f"{reason.args.get('entity')}:{reason.args.get('id')}"
        title = next((part.title for part in parts if part.record == place and not is_number(part.title)), "")
        return {**reason.args, "title": title} if title else reason.args
    field = _find_field(reason)
    if not field or not _has_no_word(field, tr.locale):
        return reason.args
    plain_field = field.replace("_", "").lower()
    name = next((line.name for part in parts for line in part.lines if line.field.replace("_", "").lower() == plain_field), "")
    return {**reason.args, "field": quote(name, tr.locale)} if name else reason.args


@lru_cache(maxsize=1024)
def _has_no_word(field: str, locale: Locale) -> bool:
    """Cached: each look goes through all words."""
    tr = Translator(locale)
    return tr.translate("gate-field", field=field) == tr.translate("gate-field", field="\0").replace("\0", field)


def _find_code(reason: Notice) -> str:
    """For a command of a batch, the wrapped code."""
    return str(reason.args.get("reason") or reason.code) if reason.code == "gate-batch-asks" else reason.code


def _render_reason(reason: Notice, preview: Preview, tr: Translator, *, headed: str = "") -> str:
    """The record `headed` is named by the heading of its card."""
    code, args = _find_code(reason), _name_reason(reason, preview, tr)
    names_record = code == _UNNAMED and "title" in args and f"{args.get('entity')}:{args.get('id')}" != headed
    if code == _NOT_ORDERED and args.get("told"):
        return tr.translate(_TOLD)
    return tr.translate(_RECORD_NAMED if names_record else code, **args)


def list_reasons(view: CardView, tr: Translator, *, about_fields: bool | None = None, left_out: Collection[str] = ()) -> list[str]:
    """At most two, by kind; none of the codes in `left_out`.

    `about_fields` selects those about critical fields, or the others.
    """
    texts_by_code: dict[str, list[str]] = {}
    sharp = {_find_field(reason) for reason in view.reasons if reason.code in _SUM_REASONS}
    own = view.card.slot.startswith(_OWN_ORIGINS)
    headed = "" if view.preview.items else view.preview.record
    for reason in _select_reasons(view.reasons):
        if reason.code in left_out or (own and reason.code == "gate-model-asks") or about_fields is (_find_code(reason) != "gate-critical"):
            continue
        if reason.code == "gate-critical" and _find_field(reason) in sharp:
            continue
        text = _render_reason(reason, view.preview, tr, headed=headed)
        group = texts_by_code.setdefault(_find_code(reason), [])
        if text not in group:
            group.append(text)
    weightiest = sorted(texts_by_code, key=lambda code: (code not in _ASTRAY, code not in _FIRST, code in _DOUBTS))
    return [_join_texts(code, texts_by_code[code], view, tr) for code in weightiest[:MOST_REASONS]]


def _select_reasons(reasons: Sequence[Notice]) -> list[Notice]:
    """Doubts only where nothing is said about the change itself."""
    codes = set(map(_find_code, reasons))
    doubts = {code for code in codes if code in _DOUBTS} - ({_UNNAMED} if _COMPARED in codes else set())
    doubt = strongest = next((code for code in _DOUBTS if code in doubts), "")
    facts = [reason for reason in reasons if _find_code(reason) not in _DOUBTS]
    if doubt == _NOT_ORDERED and facts and any(reason.code == doubt and reason.args.get("told") for reason in reasons):
        doubt = ""  # the change was said, and what it costs stands there
    if codes - {_REFERENCE, *_DOUBTS, *_ABOUT_WORDS}:  # the line of the value says that it comes from a new record
        reasons = [reason for reason in reasons if _find_code(reason) != _REFERENCE]
    if doubt != _ONLY_ASKED and any(_find_code(reason) not in _ABOUT_WORDS for reason in facts):
        doubt = _UNNAMED if _UNNAMED in doubts else ""
    telling = [reason for reason in reasons if _find_code(reason) not in {*_DOUBTS, *_SAYS_ONLY_THAT_IT_ASKS}]
    doubt = doubt or ("" if telling else strongest)
    return [*telling, *(reason for reason in reasons if _find_code(reason) == doubt)]


def _join_texts(code: str, texts: list[str], view: CardView, tr: Translator) -> str:
    """Changed fields if few, otherwise the first and how many follow."""
    if len(texts) == 1:
        return texts[0]
    if code == "gate-critical" and len(texts) <= MAX_FIELDS:
        same = [reason for reason in view.reasons if _find_code(reason) == code]
        names = [(_find_field(reason), str(_name_reason(reason, view.preview, tr).get("field") or "")) for reason in same]
        if not any(field == name and _has_no_word(field, tr.locale) for field, name in names):
            fields = dict.fromkeys(tr.translate("gate-field", field=name) for _, name in names)
            return tr.translate("reason-fields", fields=", ".join(fields))
    return tr.translate("reason-more", text=texts[0], count=len(texts) - 1)


def render_reasons(view: CardView, tr: Translator) -> Spans:
    """Company rules are shown as written."""
    texts = dict.fromkeys(_render_whole_reason(reason, view.preview, tr) for reason in view.reasons)
    if not texts:
        return ()
    return build_spans(format_bold(tr.translate("details-why")), "\n", join_blocks([build_spans(f"• {text}") for text in texts], "\n"))


def _render_whole_reason(reason: Notice, preview: Preview, tr: Translator) -> str:
    code = _find_code(reason)
    if code not in {_UNNAMED, _NOT_ORDERED}:
        return tr.translate_notice(reason)
    words = _render_reason(reason, preview, tr)
    return words if reason.code == code else tr.translate("batch-command", **reason.args) + words
