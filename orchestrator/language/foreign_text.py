"""Separates the person's own words from text of others that they pasted into the message: quotations, letters, quoted lines.

Text of others is prose: it names no record and gives no order, and after it each write needs the person's consent. A doubtful text counts
as text of others, which costs only one confirmation card. Short quotations that are values («переименуй в «Лютик»») and lists of values
after a colon count as the person's own words.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from orchestrator.language.copied_text import is_chat_head, is_sender_line, is_signature
from orchestrator.language.lexicon import load_lexicon
from orchestrator.language.text import fold

MAX_QUOTED_VALUE: Final = 100
"""A longer quotation is no title and no short comment."""
MAX_PHRASE: Final = 40
"""A quotation of several sentences may be this long and still be a name («ООО «Рога. И Ко»»)."""
MAX_GREETED: Final = 600
"""A longer text that begins with a greeting is a letter: nobody writes to the bot like that."""
MAX_GREETING: Final = 20
"""A quotation that only greets («добрый день») is a value."""
MAX_VALUE_LINE: Final = 80
MAX_VALUE_LINES: Final = 30
MAX_LEAD_WORDS: Final = 8
MAX_PHRASE_WORDS: Final = 3
MAX_ADDRESS_WORDS: Final = 2
"""So many words before a colon may name what an order is about («Северный ветер: закрой сделку», «Срочно: …»)."""
CONTEXT: Final = 200
"""How many characters before a quotation say what it is."""

_WORDS: Final = load_lexicon("foreign_text")


def _compile_words(*keys: str) -> re.Pattern[str]:
    joined = "|".join(_WORDS.join_patterns(key) for key in keys)
    return re.compile(rf"(?<!\w)(?:{joined})(?!\w)")


def _compile_line_start(pattern: str, after: str = r"(?!\w)") -> re.Pattern[str]:
    return re.compile(rf"[\s\"'«“*_.]*(?:{pattern}){after}")


_COLONS: Final = ":：∶︓꞉"
_REPORTING: Final = _compile_words("reporting")
_LETTERS: Final = _compile_words("letters")
_REPORTING_OR_LETTERS: Final = _compile_words("reporting", "letters")
_SOURCES: Final = re.compile(rf"(?<!\w)(?:{_WORDS.join_patterns('sources')})(?:\s+\w+)?\W*$")
_REPORTING_AT_END: Final = re.compile(rf"(?<!\w)(?:{_WORDS.join_patterns('reporting')})\W*$")
_ANNOUNCEMENT: Final = re.compile(rf"(?:^|[.!?\n])\s*(?:{_WORDS.join_patterns('announcements')})[^.!?\n]{{0,40}}[.!?]+(?=\s)")
_LEAD_LINE: Final = re.compile(_WORDS.join_patterns("lead_lines"))
_NOTES: Final = _compile_words("notes")
_ANSWERED: Final = re.compile(rf"(?<!\w)(?:{_WORDS.join_patterns('answered')})\W*$")
_OUTWARD: Final = _compile_words("outward")
_CHANGES: Final = _compile_words("orders", "outward", "acts", "orders_follow")
_ORDERS: Final = _compile_words("orders", "outward", "readings")
_LABELS: Final = _compile_words("labels")
_ORDERS_FOLLOW: Final = re.compile(rf"(?:{_WORDS.join_patterns('orders_follow')})[\s{_COLONS}]*")
_ACTS: Final = _compile_words("acts")
_STARTS_ACT: Final = _compile_words("acts", "commands")
_REPORTED_ACT: Final = re.compile(rf"(?<!\w)(?:{_WORDS.join_patterns('reporting')})(?:\s+(?:{_WORDS.join_patterns('retelling')}))?\s+")
_ACT_STEMS: Final = re.compile(rf"(?<!\w)\w{{0,3}}(?:{_WORDS.join_patterns('act_stems')})")
_DELETING: Final = _compile_words("deleting")
_COMMANDS: Final = _compile_words("commands")
_RECORDS: Final = _compile_words("records")
_NUMBERED_RECORD: Final = re.compile(rf"(?:{_WORDS.join_patterns('records')})\W{{0,3}}(?:id\W?)?[0-9]|[№#]\s?[0-9]")
_GREETING: Final = _compile_line_start(_WORDS.join_patterns("greetings"))
_LETTER_START: Final = _compile_line_start(f"{_WORDS.join_patterns('greetings')}|{_WORDS.join_patterns('requests_of_letters')}")
_FORMAL_GREETING: Final = _compile_line_start(_WORDS.join_patterns("formal_greetings"))
_SIGN_OFF: Final = _compile_line_start(_WORDS.join_patterns("sign_offs"), after="")
_PEOPLE_HEADER: Final = _compile_line_start(_WORDS.join_patterns("headers_of_people"), after=rf"[*_ ]*[{_COLONS}]")
_HEADER: Final = _compile_line_start(
    f"{_WORDS.join_patterns('headers_of_people')}|{_WORDS.join_patterns('headers')}", after=rf"[*_ ]*[{_COLONS}]"
)
_SEPARATOR: Final = re.compile(rf"[-_=*>\s]*(?:{_WORDS.join_patterns('separators')})[-_=*{_COLONS}\s]*$")
_ATTRIBUTION: Final = re.compile(r"[0-9]{1,2}:[0-9]{2}|\w@\w")
"""A mail program wrote the line above the letter («On Mon, 23 Nov 2026 at 10:00, P wrote:»), not the person."""
_QUOTED_LINE: Final = re.compile(r"\s{0,3}(?:(?:[-*•+]\s+|\|)?[>＞❯›〉》▌▎│┃]|»\s*\w|&gt;|\|\s(?!.*\|))")
_LEAD_END: Final = re.compile(rf"[{_COLONS}]+[\s*_)👇⬇️↓]*$|\s[–—-]+>?\s*$|[👇⬇↓→]️?\s*$")
_INLINE_COLON: Final = re.compile(rf"(?<![0-9])[{_COLONS}](?!//)|[{_COLONS}](?![0-9/])|→|\s[–—-]+>?(?=\s)")
_RULE_LINE: Final = re.compile(r"\s*([-*=_~#])\1{2,}\s*$")
_SENTENCE_END: Final = re.compile(r"[.!?…;\n](?=\s|$|[»”\"])")
_CLAUSE_END: Final = re.compile(rf"[.!?…;\n](?=\s)|,(?! (?:{_WORDS.join_patterns('going_on')})\b)")
_SENTENCE_BREAK: Final = re.compile(r"[.!?…]\s+\S")
_FENCES: Final = tuple(
    (re.compile(opened), re.compile(closed))
    for opened, closed in (
        (r"`{3,}", r"`{3,}"),
        (r"~{3,}", r"~{3,}"),
        (r"<(?!(?:a|b|br|em|hr|i|s|strong|u)\b)[^\W\d]\w{0,20}\b[^<>\n]{0,100}>", r"</[^\W\d]\w{0,20}\s*>"),
        (r"<{2,}(?!/)", r">{2,}"),
        (r"\[quote\b[^\]\n]{0,100}\]", r"\[/quote\]"),
    )
)
_LIST_MARK: Final = re.compile(r"^\s*(?:[0-9]{1,2}[.)]|[-–—*•])\s+")
_SYMMETRIC: Final = frozenset("\"`'＂″")
_OPENERS: Final = {"„": "“”"} | dict(zip("«“‹‘「『❝❮" + "".join(_SYMMETRIC), "»”›’」』❞❯" + "".join(_SYMMETRIC), strict=True))
_WORD: Final = re.compile(r"\w")


class SplitText(NamedTuple):
    """A message divided into the person's own words and the text of others (`foreign`); either may be ""."""

    own: str
    foreign: str


class _Span(NamedTuple):
    start: int
    end: int


class _Line(NamedTuple):
    start: int
    end: int
    folded: str
    spoken: str

    @property
    def is_blank(self) -> bool:
        return not self.folded.strip()


def split_foreign_text(text: str) -> SplitText:
    """Divide a message into the person's own words and the text of others. Both keep their words in the original order."""
    folded = "".join("\n" if char == "\n" else fold(char) for char in text)
    lines = list(_list_lines(folded, text))
    spans = [*_find_fences(folded), *_find_quoted_lines(lines)]
    tail = _find_letter(lines)
    if tail is not None:
        spans.append(_Span(tail, len(text)))
    spans.extend(_find_quotations(folded))
    spans.extend(_find_reported_words(folded, _merge(spans)))
    merged = _merge(spans)
    if not merged:
        return SplitText(own=text, foreign="")
    return SplitText(own=_cut_out(text, merged), foreign="\n\n".join(text[start:end].strip() for start, end in merged))


def gives_order(text: str) -> bool:
    """Return whether the person's own words ask the bot to change something."""
    return _CHANGES.search(fold(text)) is not None


def asks_to_delete(text: str) -> bool:
    """Return whether the person's own words ask to delete something or to take it away."""
    return _DELETING.search(fold(text)) is not None


def announces_foreign_text(text: str) -> bool:
    """Return whether `text` ends with an announcement of somebody else's words («клиент пишет:»), which the next message then contains."""
    line = fold(text.rstrip().rpartition("\n")[2])
    return _LEAD_END.search(line) is not None and _REPORTING_OR_LETTERS.search(line) is not None


def _list_lines(folded: str, text: str) -> Iterator[_Line]:
    start = 0
    for line in folded.split("\n"):
        end = start + len(line)
        yield _Line(start, end, line, text[start:end])
        start = end + 1


def _merge(spans: Sequence[_Span]) -> list[_Span]:
    merged: list[_Span] = []
    for span in sorted(spans):
        if merged and span.start <= merged[-1].end + 1:
            merged[-1] = _Span(merged[-1].start, max(merged[-1].end, span.end))
        elif span.start < span.end:
            merged.append(span)
    return merged


def _cut_out(text: str, spans: Sequence[_Span]) -> str:
    """Return `text` without the parts `spans`; "" if nothing but punctuation is left. A part inside a line leaves «[…]» in its place."""
    kept, position = list[str](), 0
    for start, end in spans:
        kept.append(text[position:start].rstrip(" "))
        inline = text[end : end + 1] not in ("", "\n")
        kept.append(" […]" if inline and kept[-1] else "")
        position = end
    own = "".join([*kept, text[position:]]).strip()
    return own if _WORD.search(own) else ""


def _find_fences(folded: str) -> Iterator[_Span]:
    """Yield the parts of the text between fences (```, [quote], tags), to the last closing fence, since the inside may hold fences."""
    for opened, closed in _FENCES:
        first = opened.search(folded)
        if first is not None:
            ends = [mark.end() for mark in closed.finditer(folded, first.end())]
            yield _Span(first.start(), ends[-1] if ends else len(folded))


def _find_quoted_lines(lines: Sequence[_Line]) -> Iterator[_Span]:
    return (_Span(line.start, line.end) for line in lines if _QUOTED_LINE.match(line.folded))


def _find_letter(lines: Sequence[_Line]) -> int | None:
    """Return where a letter begins that goes on to the end of the message; None if there is none."""
    found = [start for start in (_find_head(lines), _find_greeting(lines), _find_signed(lines), _find_led_in(lines)) if start is not None]
    return min(found, default=None)


def _find_head(lines: Sequence[_Line]) -> int | None:
    """Return the offset of an e-mail's header, of a line above a forwarded message, or of lines copied from a chat; None without these."""
    for number, line in enumerate(lines):
        if _SEPARATOR.match(line.folded) or _RULE_LINE.match(line.folded) or is_chat_head(line.folded) or is_sender_line(line.spoken):
            return line.start
        if not _HEADER.match(line.folded):
            continue
        beside = [other for other in lines[number + 1 : number + 4] if _HEADER.match(other.folded)]
        of_people = any(_PEOPLE_HEADER.match(one.folded) for one in (line, *beside))
        addressed = _PEOPLE_HEADER.match(line.folded) and re.search(r"[@<]", line.folded)
        apart = number + 2 < len(lines) and lines[number + 1].is_blank
        first = number + 1 < len(lines) and not any(not other.is_blank for other in lines[:number])
        if addressed or apart or first or (beside and of_people):
            return line.start
    return None


def _find_greeting(lines: Sequence[_Line]) -> int | None:
    """Return the offset of a line that begins a letter with a greeting; None if there is none.

    A greeting on the first line counts only if it is formal or if a long text follows, since people also greet the bot.
    """
    spoken = [line for line in lines if not line.is_blank]
    formal = spoken and _FORMAL_GREETING.match(spoken[0].folded)
    if formal or (spoken and _GREETING.match(spoken[0].folded) and lines[-1].end - spoken[0].start > MAX_GREETED):
        return spoken[0].start
    return next((line.start for line in spoken[1:] if _LETTER_START.match(line.folded)), None)


def _find_signed(lines: Sequence[_Line]) -> int | None:
    """Return the offset of a text that ends as letters do; None without one. A first line that only announces the letter is left out."""
    spoken = [line for line in lines if not line.is_blank]
    if not any(_SIGN_OFF.match(line.folded) for line in spoken[1:]) and not is_signature([line.spoken for line in spoken]):
        return None
    first = spoken[0].folded
    of_letter = _GREETING.match(first) or _COMMANDS.search(first) or _NUMBERED_RECORD.search(first)
    return spoken[1].start if _is_lead_in(first) and not of_letter else spoken[0].start


def _find_led_in(lines: Sequence[_Line]) -> int | None:
    """Return the offset of text of others below a line that announces it; None without one. A list of values does not count."""
    for number, line in enumerate(lines):
        if line.is_blank or _QUOTED_LINE.match(line.folded) or not _is_lead_in(line.folded):
            continue
        rest = [other for other in lines[number + 1 :] if not other.is_blank]
        if rest and not _is_value_list(line.folded, rest):
            return line.start if _ATTRIBUTION.search(line.folded) else rest[0].start
    return None


def _is_lead_in(line: str) -> bool:
    """Return whether the line announces the text after it: it ends with a colon, or with words such as «письмо от клиента»."""
    if _LEAD_END.search(line) or _LEAD_LINE.fullmatch(line.strip(" .!,")):
        return True
    words = line.split()
    if len(words) > MAX_LEAD_WORDS or _SENTENCE_END.search(line):
        return False
    return _REPORTING_OR_LETTERS.search(" ".join(words[-4:])) is not None and _OUTWARD.search(line) is None


def _is_value_list(lead: str, rest: Sequence[_Line]) -> bool:
    """Return whether `rest` is a short list of values that belongs to the person's own instruction in `lead`, such as «Создай задачи:»."""
    if _REPORTING_OR_LETTERS.search(lead):
        return False
    of_orders = _ORDERS_FOLLOW.fullmatch(lead.strip()) is not None
    if not (of_orders or _ORDERS.search(lead) or _RECORDS.search(lead)) or len(rest) > MAX_VALUE_LINES:
        return False
    values = [_LIST_MARK.sub("", line.folded).strip() for line in rest]
    return all(
        len(value) <= MAX_VALUE_LINE
        and not _GREETING.match(value)
        and not _SENTENCE_BREAK.search(value)
        and (of_orders or not _is_instruction(value))
        for value in values
    )


def _is_instruction(text: str) -> bool:
    """Whether the text tells somebody to change something in the CRM."""
    if _COMMANDS.search(text) or (_ACTS.search(text) and _RECORDS.search(text)):
        return True
    return _ACT_STEMS.search(text) is not None and _NUMBERED_RECORD.search(text) is not None


def _find_quotations(folded: str) -> Iterator[_Span]:
    """Yield the offsets of the quotations that contain somebody else's words."""
    position = 0
    while (start := _find_opener(folded, position)) is not None:
        end = _find_closer(folded, start)
        inner = folded[start + 1 : end - 1] if end is not None else folded[start + 1 :]
        if end is None and not _WORD.search(inner):
            return
        if _is_foreign_quotation(folded[max(0, start - CONTEXT) : start], inner):
            end = _find_outer_closer(folded, start, end)
            yield _Span(start, end)
        elif end is None:
            end = start + 1
        position = max(end, start + 1)


def _find_opener(folded: str, position: int) -> int | None:
    for place in range(position, len(folded)):
        char = folded[place]
        if char not in _OPENERS or (char in _SYMMETRIC and place and folded[place - 1].isalnum()):
            continue
        if char not in _SYMMETRIC or not folded.startswith(char, place + 1):  # of several marks in a row, the last one opens
            return place
    return None


def _find_closer(folded: str, start: int) -> int | None:
    """Return the offset after the quotation that begins at `start`, including quotations inside it; None if it is never closed."""
    opener = folded[start]
    closers, depth = _OPENERS[opener], 1
    for place in range(start + 1, len(folded)):
        if folded[place] in closers:
            depth -= 1
            if not depth:
                return place + 1
        elif folded[place] == opener:
            depth += 1
    return None


def _find_outer_closer(folded: str, start: int, end: int | None) -> int:
    """Return the offset after a foreign quotation: `end` (None: the text's end), or the last mark if more marks close than open."""
    if end is None:
        return len(folded)
    closers = _OPENERS[folded[start]]
    rest = folded[end:]
    nested = not _SYMMETRIC & set(closers) and sum(rest.count(mark) for mark in closers) <= rest.count(folded[start])
    last = max(folded.rfind(mark) for mark in closers) + 1
    return end if nested else max(end, last)


def _is_foreign_quotation(before: str, inner: str) -> bool:
    """Return whether the quotation `inner` holds a letter, an instruction or somebody's words, not a value for the person's order.

    `before` is the text before the quotation; it may announce somebody's words.
    """
    if not _WORD.search(inner):
        return False
    if len(inner) > MAX_QUOTED_VALUE or "\n" in inner.strip() or _is_instruction(inner):
        return True
    if len(inner) > MAX_GREETING and _GREETING.match(inner):
        return True
    if len(inner) > MAX_PHRASE and _SENTENCE_BREAK.search(inner):
        return True
    clause = _CLAUSE_END.split(before.rstrip())[-1]
    if _REPORTING.search(clause) or (_LETTERS.search(clause) and not _OUTWARD.search(clause)):
        return True
    introduced = _LEAD_END.search(before.rstrip(" \n")) is not None
    return introduced and not (_ORDERS.search(clause) or _LABELS.search(clause))


def _find_reported_words(folded: str, foreign: Sequence[_Span]) -> Iterator[_Span]:
    """Yield the offsets of all text after «клиент пишет: …» or «Вот письмо. …»; colons inside the parts `foreign` do not count."""
    announced = _ANNOUNCEMENT.search(folded)
    if announced is not None:
        yield _Span(announced.end(), len(folded))
    for said in _REPORTED_ACT.finditer(folded):  # «клиент пишет переименуйте …»: dictated, without a colon
        if _STARTS_ACT.match(folded, said.end()) and _is_instruction(folded[said.end() :]):
            yield _Span(said.end(), len(folded))
    for colon in _INLINE_COLON.finditer(folded):
        if any(span.start <= colon.start() < span.end for span in foreign):
            continue
        clause = _CLAUSE_END.split(folded[max(0, colon.start() - MAX_VALUE_LINE) : colon.start()])[-1]
        rest = folded[colon.end() :].lstrip()
        led = _announces(clause, colon[0]) or _is_led_letter(clause, rest[:CONTEXT])
        if led and _WORD.search(rest) and rest[0] not in _OPENERS:
            yield _Span(colon.end(), len(folded))
            return


def _is_led_letter(clause: str, rest: str) -> bool:
    """Return whether a letter or an instruction follows a colon; False if `clause`, the words before it, instructs the bot."""
    if _NOTES.search(clause):
        return _STARTS_ACT.match(rest) is not None and _is_instruction(rest)
    if _ORDERS.search(clause) or _ORDERS_FOLLOW.fullmatch(clause.strip()):
        return False
    if _GREETING.match(rest):
        return True
    return len(clause.split()) > MAX_ADDRESS_WORDS and not _RECORDS.search(clause) and _is_instruction(rest)


def _announces(clause: str, mark: str) -> bool:
    """Return whether the clause before `mark` (a colon, an arrow or a dash) announces somebody else's words."""
    reported = _REPORTING.search(clause) is not None
    if mark[0] not in f"{_COLONS}→":
        reported = _REPORTING_AT_END.search(clause) is not None
        return reported or (len(clause.split()) <= MAX_PHRASE_WORDS and _LETTERS.search(clause) is not None)
    if reported or _ANSWERED.search(clause) or (_LETTERS.search(clause) and not _OUTWARD.search(clause)):
        return True
    return _SOURCES.search(clause) is not None and not (_ORDERS.search(clause) or _RECORDS.search(clause))
