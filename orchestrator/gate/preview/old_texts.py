"""What becomes of a longer text that a change replaces, empties or adds to, in a few words. Pure."""

from typing import Final

from orchestrator.domain.card_view import LONG_TEXT, Preview, PreviewLine, PreviewPart
from orchestrator.gate.preview.format_values import EMPTY
from orchestrator.language.lexicon import load_lexicon
from orchestrator.language.money_format import NO_BREAK_SPACE
from orchestrator.language.text import Locale

_BEGINNING, _END = 40, 30
"""Characters shown of a longer text."""
_LINE_BREAK: Final = " ⏎ "
_LOCALES: Final[tuple[Locale, ...]] = ("ru", "en")
_WORDS: Final = load_lexicon("card_fields")
_TEXTS: Final = {locale: _WORDS.read_table("old_text", locale) for locale in _LOCALES}
_SIZES: Final = {locale: _WORDS.read_table("text_size", locale) for locale in _LOCALES}
_FEW: Final = frozenset({2, 3, 4})
_TEENS: Final = frozenset({11, 12, 13, 14})


def count_lost(old_text: object, value: object, *, is_prose: bool) -> int:
    """Characters of `old_text` lost if `value` is written over it; 0 if it is kept whole, or short and no prose."""
    if not isinstance(old_text, str):
        return 0
    old = old_text.strip()
    if not old or (not is_prose and len(old) <= LONG_TEXT):
        return 0
    held_words, words = " ".join(old.split()), " ".join(str(value).split()) if isinstance(value, str | int | float) else ""
    if held_words in words:
        return 0
    return len(held_words) - len(words) if held_words.startswith(words) and words else len(old)


def mark_old_text(line: PreviewLine, lost: int, *, is_outward: bool) -> PreviewLine:
    """Of a text that goes outside the card shows the whole new one."""
    is_one_text = bool(line.before and line.after) and line.before != line.after and "\n" not in f"{line.before}{line.after}"
    adds = len(line.before) > LONG_TEXT and line.after.startswith(line.before)
    cuts = bool(lost) and line.after != EMPTY and line.before.startswith(line.after)
    update = {"lost": lost} if lost else {}
    if is_one_text and (adds or cuts) and not is_outward:
        update["is_kept"] = True
    return line.model_copy(update=update) if update else line


def put_lost_first(lines: list[PreviewLine]) -> list[PreviewLine]:
    return sorted(lines, key=lambda line: not line.lost)


def may_keep(part: PreviewPart) -> bool:
    """The new text could be added to the lost one instead."""
    return bool(part.record) and any(may_keep_line(line) for line in part.lines)


def may_keep_line(line: PreviewLine) -> bool:
    return bool(line.lost) and line.after != EMPTY


def is_shortened(preview: Preview) -> bool:
    """An old text is lost, or a text is added to it."""
    return any(line.lost or line.added for part in (preview, *preview.items) for line in part.lines)


def shorten_preview(preview: Preview, locale: Locale, *, is_done: bool) -> Preview:
    """`is_done` after the call has run."""
    lines = [shorten_line(line, locale, is_done=is_done) for line in preview.lines]
    items = [
        item.model_copy(update={"lines": [shorten_line(line, locale, is_done=is_done) for line in item.lines]}) for item in preview.items
    ]
    return preview.model_copy(update={"lines": lines, "items": items})


def shorten_line(line: PreviewLine, locale: Locale, *, is_done: bool) -> PreviewLine:
    """Only a line whose old text is lost or added to."""
    if line.lost:
        return _shorten_loss(line, locale, is_done=is_done)
    if not line.added:
        return line
    before = _describe(line.before, _count_signs(line.before), "was" if is_done else "kept", locale=locale)
    return line.model_copy(update={"before": before, "after": f"+ {_strip_breaks(line.added)}"})


def _shorten_loss(line: PreviewLine, locale: Locale, *, is_done: bool) -> PreviewLine:
    if line.is_kept:
        lost = _describe(line.before.removeprefix(line.after), line.lost, "gone" if is_done else "lost", locale=locale)
        left = _describe(line.after, _count_signs(line.after), "left" if is_done else "kept", locale=locale)
        return line.model_copy(update={"before": lost, "after": left})
    lost = _describe(line.before, line.lost, "was" if is_done else "lost", locale=locale)
    empty = _TEXTS[locale]["emptied" if is_done else "empty"]
    return line.model_copy(update={"before": lost, "after": empty if line.after == EMPTY else line.after})


def _describe(text: str, size: int, fate: str, *, locale: Locale) -> str:
    return _TEXTS[locale][fate].format(size=_format_size(size, locale), text=_shorten(_strip_breaks(text)))


def _count_signs(text: str) -> int:
    return len(_strip_breaks(text).replace(_LINE_BREAK, "\n"))


def _strip_breaks(text: str) -> str:
    return text.strip(f"{_LINE_BREAK} ")


def _shorten(text: str) -> str:
    line = _LINE_BREAK.join(text.split("\n"))
    if len(line) <= LONG_TEXT:
        return line
    first, last = line[:_BEGINNING], line[-_END:]
    return f"{first.rpartition(' ')[0] or first}… {last.partition(' ')[2] or last}"


def _format_size(count: int, locale: Locale) -> str:
    words = _SIZES[locale]
    if locale == "en":
        return words["one" if count == 1 else "many"].format(count=f"{count:,}")
    last = 0 if count % 100 in _TEENS else count % 10
    form = "one" if last == 1 else "few" if last in _FEW else "many"
    return words[form].format(count=f"{count:,}".replace(",", NO_BREAK_SPACE))
