"""Renders the Markdown of models as spans. Pure. Only listed addresses become links.

Text that only looks like Markdown is kept: "5*3", numbers of lists, "> 5".
"""

import re
import unicodedata
from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Final

from markdown_it import MarkdownIt
from markdown_it.rules_block import StateBlock, blockquote
from markdown_it.rules_inline import StateInline
from markdown_it.token import Token

from bot.rendering.spans import Span, Spans, Style, build_spans, join_blocks
from orchestrator.language.links import find_addresses, normalize_address, strip_unknown_links
from orchestrator.language.text import Locale

_WIDEST: Final = 40
"""On a phone; a wider table becomes a list."""
_BULLETS: Final = {"-": "•", "*": "•", "+": "+"}
"""A plus sign may belong to a number, so it stays."""
_INDENT: Final = "   "
_RULE: Final = "———"
_STYLES: Final[dict[str, Style]] = {"strong": "bold", "em": "italic", "s": "strike"}
_BREAK_TAG: Final = re.compile(r"<br\s*/?>", re.IGNORECASE)
_COMPARISON: Final = re.compile(r"[ \t]*(?:[\d=~≈>+.-]|[₽$€])")
"""What follows a ">" that means "more than"."""
_AROUND_MASK: Final = frozenset("=/:?&-")
_TOO_DEEP: Final = re.compile(r"^(?:[ \t]*(?:>|[-+*]|[0-9]{1,9}[.)])){40}|^[ \t]{80}", re.MULTILINE)
"""The parser would leave out such text."""
_MAY_BE_MARKUP: Final = re.compile(
    r"[*_`\[\]<>~|\\&\x00\r\t]|^[^\S\n]|[^\S\n]$|^(?:[-+#=]|[0-9]{1,9}[.)])",
    re.MULTILINE,
)
"""All markup needs one of these; the parser is half of a sentence's cost."""
_DEEPEST: Final = 100
_MOST_BRACKETS: Final = 1000
"""Beyond this the parser takes seconds."""
_LANGUAGE: Final = re.compile(r"[A-Za-z0-9+#._-]{0,20}")
_CELL_BORDER: Final = re.compile(r"(?<!\\)\|")
_LOOKS_LIKE_ADDRESS: Final = re.compile(r"[.:/\\?#]")
_LINE_END: Final = re.compile(r"\r\n?|\n")
_SCHEMES: Final = ("mailto:", "tel:")


def render_markdown(text: str, *, locale: Locale, links: Sequence[str] | None = None) -> Spans:
    """Without `links` every address with a slash is one: unknown ones must be removed before."""
    if links is None:
        links = [found.address for found in find_addresses(text) if "/" in found.address]
    writer = _Writer(locale=locale, links=frozenset(map(normalize_address, links)), lines=tuple(_LINE_END.split(text)))
    if _MAY_BE_MARKUP.search(text) is None:
        return writer.render_paragraphs()
    if text.count("[") > _MOST_BRACKETS or _TOO_DEEP.search(text):
        return writer.render_plain(text)
    return _trim(writer.render_blocks(_Tokens(_build_parser().parse(text))))


@lru_cache(maxsize=1)
def _build_parser() -> MarkdownIt:
    """Without rules that would misread plain words."""
    parser = MarkdownIt("commonmark", {"html": False, "maxNesting": _DEEPEST})
    parser.enable(["table", "strikethrough"]).disable(["code", "lheading", "reference", "html_block", "html_inline"])
    parser.normalizeLink = _keep_link  # type: ignore[method-assign]
    parser.validateLink = _accept_link  # type: ignore[method-assign]
    parser.inline.ruler.before("emphasis", "plain_stars", _take_plain_stars)
    parser.block.ruler.at("blockquote", _take_quote, {"alt": ["paragraph", "reference", "blockquote", "list"]})
    return parser


def _keep_link(url: str) -> str:
    """The parser would encode it."""
    return url


def _accept_link(url: str) -> bool:
    del url
    return True


def _take_plain_stars(state: StateInline, silent: bool) -> bool:  # noqa: FBT001 - the signature of a rule
    """In "5*3*2", "a*b" and a masked "key=***"."""
    if state.src[state.pos] != "*":
        return False
    end = state.pos + 1
    while end < state.posMax and state.src[end] == "*":
        end += 1
    before, after, count = state.src[state.pos - 1 : state.pos], state.src[end : end + 1], end - state.pos
    within = before.isalnum() and after.isalnum() and (count == 1 or before.isdigit() or after.isdigit())
    is_mask = count == 3 and before in _AROUND_MASK and before != ""  # noqa: PLR2004 - as `masking.HIDDEN`
    if not within and not is_mask:
        return False
    if not silent:
        state.pending += state.src[state.pos : end]
    state.pos = end
    return True


def _take_quote(state: StateBlock, start: int, end: int, silent: bool) -> bool:  # noqa: FBT001 - the signature of a rule
    """Not for "more than", as in "> 5 млн"."""
    place = state.bMarks[start] + state.tShift[start]
    if state.src[place : place + 1] == ">" and _COMPARISON.match(state.src, place + 1):
        return False
    return blockquote(state, start, end, silent)


class _Tokens:
    def __init__(self, tokens: Sequence[Token]) -> None:
        self._tokens, self._at = tokens, 0

    def take_until(self, closing: str) -> "_Tokens":
        """Nested blocks stay whole."""
        level, start = 0, self._at
        while self._at < len(self._tokens):
            token = self._tokens[self._at]
            if token.type == closing and level == 0:
                break
            level += token.nesting
            self._at += 1
        inside = self._tokens[start : self._at]
        self._at += 1
        return _Tokens(inside)

    def __iter__(self) -> Iterator[Token]:
        while self._at < len(self._tokens):
            self._at += 1
            yield self._tokens[self._at - 1]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Writer:
    locale: Locale
    links: AbstractSet[str]
    lines: tuple[str, ...]
    styles: tuple[Style, ...] = ()

    def render_plain(self, text: str) -> Spans:
        return self._render_words(text)

    def render_paragraphs(self) -> Spans:
        """Several empty lines count as one."""
        parts: list[Spans] = []
        is_parted = False
        for line in self.lines:
            if line and parts:
                parts.append(self._write("\n\n" if is_parted else "\n"))
            if line:
                parts.append(self._render_words(line))
            is_parted = not line
        return build_spans(*parts)

    def render_blocks(self, tokens: _Tokens) -> Spans:
        """Empty lines as in the source."""
        whole: list[Span] = []
        start = 0
        for token in tokens:
            start = token.map[0] if token.map else start
            block = self._render_block(token, tokens)
            if block and whole:
                whole += self._write("\n" if self.lines[start - 1].strip("> \t") else "\n\n")
            whole += block
        return tuple(whole)

    def _render_block(self, token: Token, tokens: _Tokens) -> Spans:
        match token.type:
            case "heading_open":
                return self._add_style("bold").render_blocks(tokens.take_until("heading_close"))
            case "blockquote_open":
                return self._add_style("quote").render_blocks(tokens.take_until("blockquote_close"))
            case "bullet_list_open" | "ordered_list_open":
                closing = token.type.replace("open", "close")
                return self._render_list(tokens.take_until(closing), is_ordered=token.type.startswith("ordered"))
            case "table_open":
                return self._render_table(token, tokens.take_until("table_close"))
            case "fence":
                return self._render_fence(token)
            case "hr":
                return self._write("***" if token.markup.startswith("*") else _RULE)
            case "inline":
                return self.render_inline(_Tokens(token.children or []))
            case _:
                return ()

    def _render_list(self, tokens: _Tokens, *, is_ordered: bool) -> Spans:
        lines: list[Spans] = []
        for token in tokens:
            content = self.render_blocks(tokens.take_until("list_item_close"))
            sign = f"{token.info}{token.markup}" if is_ordered else _BULLETS.get(token.markup, token.markup)
            lines.append(build_spans(self._write(f"{sign} "), _indent(content)))
        return join_blocks(lines, "\n")

    def _render_fence(self, token: Token) -> Spans:
        info = token.info.strip()
        above = "" if _LANGUAGE.fullmatch(info) else f"{info}\n"
        return self._write(f"{above}{token.content}".removesuffix("\n"), "pre")

    def _render_table(self, opening: Token, tokens: _Tokens) -> Spans:
        source = self.lines[slice(*opening.map)] if opening.map else ()
        if any(_count_cells(line) > _count_cells(source[0]) for line in source):  # the parser leaves out what exceeds the heading
            return self._write("\n".join(source), "pre")
        rows: list[list[Spans]] = []
        for token in tokens:
            if token.type == "tr_open":
                rows.append([])
            elif token.type == "inline":
                rows[-1].append(self.render_inline(_Tokens(token.children or []), line_break=" "))
        cells = [["".join(span.text for span in cell) for cell in row] for row in rows]
        widths = [max(map(_measure_width, column)) for column in zip(*cells, strict=True)]
        if sum(widths) + 2 * (len(widths) - 1) <= _WIDEST and not any(span.url for row in rows for cell in row for span in cell):
            return self._write("\n".join(_align_row(row, widths) for row in cells), "pre")
        return join_blocks([self._render_row(cells[0], row) for row in rows[1:]], "\n")

    def _render_row(self, names: Sequence[str], row: Sequence[Spans]) -> Spans:
        """ "• Ромашка — Сумма: 5, Стадия: Новая"."""
        first = tuple(replace(span, style="bold", more=()) if not span.styles else span for span in row[0])
        named_cells = zip(names[1:], row[1:], strict=True)
        rest = [build_spans(self._write(f"{name}: " if name else ""), cell) for name, cell in named_cells if cell]
        return build_spans(self._write("• "), first, self._write(" — " if first and rest else ""), join_blocks(rest, ", "))

    def render_inline(self, tokens: _Tokens, *, line_break: str = "\n") -> Spans:
        parts: list[Spans] = []
        for token in tokens:
            match token.type:
                case "text" | "text_special":
                    parts.append(self._render_words(_BREAK_TAG.sub(line_break, token.content)))
                case "code_inline":
                    parts.append(self._write(token.content, "code"))
                case "softbreak" | "hardbreak":
                    parts.append(self._write(line_break))
                case "strong_open" | "em_open" | "s_open":
                    inside = tokens.take_until(token.type.replace("open", "close"))
                    parts.append(self._add_style(_STYLES[token.tag]).render_inline(inside, line_break=line_break))
                case "link_open":
                    label = self.render_inline(tokens.take_until("link_close"), line_break=line_break)
                    parts.append(self._render_link(label, str(token.attrs.get("href") or "")))
                case "image":
                    parts.append(self._render_link(self._write(token.content), str(token.attrs.get("src") or "")))
        return build_spans(*parts)

    def _render_link(self, label: Spans, address: str) -> Spans:
        words = "".join(span.text for span in label)
        if normalize_address(address) in self.links:
            return tuple(replace(span, url=_complete(address)) for span in label or self._write(address))
        bare = address.removeprefix(next((scheme for scheme in _SCHEMES if address.lower().startswith(scheme)), ""))
        if bare == address and _LOOKS_LIKE_ADDRESS.search(address):
            bare = strip_unknown_links("https://x", frozenset(), locale=self.locale)
        return label if bare in words else build_spans(label, self._write(f" ({bare})" if words else bare))

    def _render_words(self, text: str) -> Spans:
        """Addresses that are not listed become a word."""
        parts: list[Spans] = []
        end = 0
        for match in find_addresses(text) if self.links else ():
            if normalize_address(match.address) in self.links:
                link = tuple(replace(span, url=_complete(match.address)) for span in self._write(match.address))
                parts += self._strip(text[end : match.start]), link
                end = match.end
        return build_spans(*parts, self._strip(text[end:]))

    def _strip(self, text: str) -> Spans:
        return self._write(strip_unknown_links(text, frozenset(), locale=self.locale))

    def _add_style(self, style: Style) -> "_Writer":
        return self if style in self.styles else replace(self, styles=(*self.styles, style))

    def _write(self, text: str, style: Style = "") -> Spans:
        """With `style` only "quote" is kept of the current ones."""
        if not text:
            return ()
        if not style and not self.styles:
            return (Span(text, is_foreign=True),)
        outer = tuple(one for one in self.styles if one == "quote") if style else self.styles
        first, *more = (style, *outer) if style else outer
        return (Span(text, first, more=tuple(more), is_foreign=True),)


def _complete(address: str) -> str:
    return address if "://" in address else f"http://{address}"


def _count_cells(line: str) -> int:
    return len(_CELL_BORDER.findall(line.strip().strip("|")))


def _indent(text: Spans) -> Spans:
    return tuple(replace(span, text=span.text.replace("\n", f"\n{_INDENT}")) if "\n" in span.text else span for span in text)


def _align_row(row: Sequence[str], widths: Sequence[int]) -> str:
    padded = [cell + " " * (width - _measure_width(cell)) for cell, width in zip(row, widths, strict=True)]
    return "  ".join(padded).rstrip()


def _measure_width(text: str) -> int:
    return sum(2 if unicodedata.east_asian_width(sign) in "WF" else 1 for sign in text)


def _trim(text: Spans) -> Spans:
    spans = list(text)
    while spans and not (words := spans[-1].text.rstrip()):
        spans.pop()
    return (*spans[:-1], replace(spans[-1], text=words)) if spans else ()
