"""Renders in words what a call does, and the change of one field. Pure."""

import re
from collections.abc import Sequence
from typing import Final

from bot.i18n.translate import Translator
from bot.rendering.spans import Span, Spans, build_spans
from orchestrator.domain.bulk import CHANGE_ALL
from orchestrator.domain.card_view import BULK_VERB, Preview, PreviewLine, PreviewPart
from orchestrator.language.text import format_number, quote

_NUMBER: Final = re.compile(r"№([0-9]+)", re.ASCII)
"""In place of a title that is not known."""
_TITLES: Final = frozenset({"TITLE", "NAME"})
_PEOPLE: Final = frozenset({"contact"})
_PARTS_OF_NAME: Final = frozenset({"NAME", "LAST_NAME"})
MAX_KINDS: Final = 3
"""Of more acts only their number."""
MAX_FIELDS: Final = 3


def is_number(title: str) -> bool:
    return _NUMBER.fullmatch(title) is not None


def is_named_in_heading(line: PreviewLine, part: PreviewPart) -> bool:
    """The title of a created record, and of a person the parts of the name."""
    if part.verb != "add":
        return False
    is_part = part.entity in _PEOPLE and line.field.upper() in _PARTS_OF_NAME and line.after in part.title.split()
    return is_part or (line.field.upper() in _TITLES and line.after == part.title)


def list_changes(part: PreviewPart) -> str:
    """Behind the heading, without what it says."""
    return "; ".join(format_change(line, with_name=True) for line in part.lines if not is_named_in_heading(line, part))


def format_change(line: PreviewLine, *, with_name: bool = False) -> str:
    before, after = (", ".join(value.split("\n")) for value in (line.before, line.after))
    change = f"{before} → {after}" if before else after
    return f"{line.name}: {change}" if with_name else change


def render_heading(preview: PreviewPart, method: str, tr: Translator) -> Spans:
    """Such as «Изменить сделку «Ромашка»», with a link."""
    if isinstance(preview, Preview) and preview.verb == BULK_VERB:
        return build_spans(render_bulk_heading(preview, method, tr))
    if isinstance(preview, Preview) and preview.items:
        return build_spans(render_batch_heading(preview.items, tr))
    words = tr.describe_call(method, preview.verb, preview.entity) or tr.translate("planned-other", method=method)
    if not preview.title:
        return build_spans(words)
    number = _NUMBER.fullmatch(preview.title)
    title = format_number(number[1], tr.locale) if number else quote(preview.title, tr.locale)
    return build_spans(words, " ", Span(title, url=preview.url))


def render_batch_heading(items: Sequence[PreviewPart], tr: Translator) -> str:
    """«Изменить 19 сделок: ответственный»; reads are not counted."""
    changes = [item for item in items if not item.is_read] or list(items)
    groups: dict[tuple[str, str, str], list[PreviewPart]] = {}
    for item in sorted(changes, key=lambda item: not item.is_critical):
        groups.setdefault((tr.find_act(item.method), item.verb, item.entity), []).append(item)
    if len(groups) > MAX_KINDS:
        return tr.translate("card-batch", count=len(changes))
    first, *others = [_name_group(members, tr) for members in groups.values()]
    heading = ", ".join([first, *(_lower_first(words) for words in others)])
    return heading + (_name_fields(changes) if len(groups) == 1 else "")


def render_bulk_heading(preview: Preview, method: str, tr: Translator) -> str:
    """«Изменить 300 сделок: ответственный»; the items are only some of them."""
    first = preview.items[0] if preview.items else preview
    code = f"count-{preview.entity}"
    if method == CHANGE_ALL and first.verb == "update" and tr.has_message(code):
        what = _keep_together(tr.translate(code, count=preview.count))
        return tr.translate("batch-update", kind=preview.entity, what=what) + _name_fields(preview.items)
    if method == CHANGE_ALL and (act := tr.describe_call(first.method, first.verb, first.entity)):
        return f"{act} × {preview.count}"
    code = code if tr.has_message(code) else "count-record"
    return f"{tr.describe_call(method, preview.verb, '')}: {_keep_together(tr.translate(code, count=preview.count))}"


def _keep_together(counted: str) -> str:
    """«19 сделок» on one line."""
    return counted.replace(" ", "\u00a0", 1)


def _name_group(members: Sequence[PreviewPart], tr: Translator) -> str:
    """«Удалить 3 сделки»; «… × 3» without a plural."""
    item = members[0]
    records = {member.record for member in members}
    count = len(records) if item.verb == "update" and "" not in records else len(members)
    act = tr.describe_call(item.method, item.verb, item.entity)
    if count == 1 and act:
        return act
    code = f"count-{item.entity}"
    if not tr.find_act(item.method) and item.verb in {"add", "update", "delete"} and tr.has_message(code):
        return tr.translate(f"batch-{item.verb}", kind=item.entity, what=tr.translate(code, count=count))
    return f"{act} × {count}" if act else tr.translate("card-batch", count=count)


def _name_fields(changes: Sequence[PreviewPart]) -> str:
    """ "" for more than `MAX_FIELDS`, or if not all are updates."""
    names = list(dict.fromkeys(line.name for item in changes for line in item.lines if not line.is_held))
    if not names or len(names) > MAX_FIELDS or any(item.verb != "update" for item in changes):
        return ""
    return ": " + ", ".join(map(_lower_first, names))


def _lower_first(text: str) -> str:
    """Abbreviations stay."""
    return text if text[1:2].isupper() else text[:1].lower() + text[1:]
