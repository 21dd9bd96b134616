"""Writes the beginning of a page as plain HTML, which browsers show while the scripts that make the page usable are still loading.

It is the page's own content, drawn with the same classes: the bar, the navigation, and about a screenful. Links in it lead where they lead
later; what needs the scripts is shown and cannot be pressed yet. The browser removes all of it when the page itself stands
(static/console.js). Every text and every attribute is escaped here, and only known attributes are written.
"""

from collections.abc import Iterator, Mapping, Sequence
from html import escape as escape_html
from typing import Final

from nicegui import Client as Page
from nicegui import ui
from nicegui.element import Element
from nicegui.elements.mixins.text_element import TextElement

from bot.console.widgets import cut_text, is_web_address
from bot.settings.settings import CONSOLE_PATH as ROOT

MOST_ELEMENTS: Final = 160
"""How many elements are written: about a screenful of the densest page."""
LONGEST_TEXT: Final = 1_000
_HTML: Final = frozenset({
    "article", "aside", "code", "dd", "div", "dl", "dt", "em", "figure", "form", "h1", "h2", "h3", "h4", "hr", "li", "main", "nav", "ol",
    "p", "pre", "section", "small", "span", "strong", "table", "tbody", "td", "th", "thead", "tr", "ul",
})  # fmt: skip
_KEPT: Final = frozenset({"dir", "role", "aria-level", "aria-label", "aria-hidden", "aria-current", "scope", "colspan", "lang"})
_HIDDEN: Final = frozenset({"q-menu", "nicegui-menu", "q-dialog", "nicegui-dialog", "q-tooltip"})
_FIELDS: Final = frozenset({"nicegui-input", "nicegui-select", "q-input", "q-select", "nicegui-number"})
_BUTTON: Final = "q-btn q-btn-item non-selectable no-outline"
_BUTTON_FLAGS: Final = {"round": "q-btn--round", "no-caps": "q-btn--no-uppercase", "dense": "q-btn--dense"}
_BUTTON_KINDS: Final = ("flat", "outline", "unelevated")
_CHOOSE_COLOURS: Final = """{
  const chosen = localStorage.getItem("sdelka-theme") ?? (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");
  document.body.classList.add(chosen === "dark" ? "body--dark" : "body--light");
}"""
"""The colours that the person has chosen, before anything is shown; see static/console.js."""
_CODE: Final = str.maketrans({"`": "&#96;", "$": "&#36;"})


def add_first_frame(page: Page) -> None:
    """Let the answer begin with the page as it stands now."""
    ui.add_body_html(write_first_frame(page.layout))


def write_first_frame(layout: Element) -> str:
    """Return the HTML of the beginning of a page."""
    body = "".join(_Frame().write(layout))
    return f'<script>{_CHOOSE_COLOURS}</script><div id="first-frame" aria-busy="true">{body}</div>'


class _Frame:
    """Writes elements until enough are written."""

    def __init__(self) -> None:
        self._left = MOST_ELEMENTS

    def write(self, element: Element) -> Iterator[str]:
        """Yield the element with what is in it, in pieces."""
        if not element.visible or element.tag in _HIDDEN or self._left <= 0:
            return
        self._left -= 1
        if element.tag == "q-btn":
            yield _write_button(element)
        elif element.tag == "q-icon":
            yield _write_icon(_read(element, "name"), " ".join(element.classes))
        elif element.tag in _FIELDS:
            yield _write_field(element)
        elif element.tag == "q-tab":
            yield f'<div class="first-tab">{escape(_read(element, "label"))}</div>'
        elif element.tag == "nicegui-codemirror":
            yield f'<pre class="first-code">{escape(_read(element, "value"))}</pre>'
        elif element.tag == "q-btn-toggle":
            yield _write_choice(element)
        else:
            yield from self._write_box(element)

    def _write_box(self, element: Element) -> Iterator[str]:
        tag, classes, more = _find_tag(element)
        names = " ".join((*classes, *element.classes))
        yield f'<{tag} class="{escape(names)}"{_write_style(element)}{more}>'
        if isinstance(element, TextElement):
            yield escape(cut_text(element.text, limit=LONGEST_TEXT))
        for child in _list_children(element):
            yield from self.write(child)
        yield f"</{tag}>"


def _find_tag(element: Element) -> tuple[str, Sequence[str], str]:
    """Return the tag that stands for the element, the classes that its component would give it, and its attributes."""
    kept = "".join(f' {name}="{escape(str(value))}"' for name, value in element.props.items() if name in _KEPT and value is not None)
    match element.tag:
        case "nicegui-link" | "a":
            return "a", (), kept + _write_target(element)
        case "nicegui-header":
            return "header", ("q-header", "row"), kept
        case "q-drawer":
            return "div", ("first-drawer",), kept
        case "q-page-container":
            return "div", ("first-page",), kept
        case "q-space":
            return "div", ("q-space",), kept
        case "q-tabs":
            return "div", ("row", "no-wrap"), kept
        case "q-card":
            return "div", ("q-card",), kept
        case "details" | "summary":  # what is folded away comes with the page itself
            return element.tag, (), ""
        case tag:
            return (tag if tag in _HTML else "div"), (), kept


def _list_children(element: Element) -> Sequence[Element]:
    """Return what is shown in the element, in the order in which people read it."""
    children = list(element.default_slot.children)
    if element.props.get("role") == "log":  # which is read from its end
        return children[-1:]
    if element.tag == "details" and "open" not in element.props:
        return children[:1]
    if element.tag == "q-tab-panels":
        return [child for child in children if child.props.get("name") == element.props.get("model-value")]
    return children


def _write_target(element: Element) -> str:
    """Return the address of a link, if it is one of the console or of the web."""
    target = _read(element, "href")
    if target.startswith("/") and not target.startswith("//"):
        return f' href="{escape(ROOT + target)}"'
    if target.startswith("#"):
        return f' href="{escape(target)}"'
    return f' href="{escape(target)}" target="_blank" rel="noopener noreferrer"' if is_web_address(target) else ""


def _write_style(element: Element) -> str:
    text = ";".join(f"{name}:{value}" for name, value in element.style.items())
    return f' style="{escape(text)}"' if text else ""


def _write_icon(name: str, classes: str = "") -> str:
    return f'<i class="q-icon notranslate material-icons {escape(classes)}" aria-hidden="true">{escape(name)}</i>'


def _write_button(element: Element) -> str:
    """Return a button as it looks; it is none until the page can answer it."""
    kind = next((button_kind for button_kind in _BUTTON_KINDS if button_kind in element.props), "standard")
    flags = [name for flag, name in _BUTTON_FLAGS.items() if flag in element.props]
    shape = [] if "round" in element.props else ["q-btn--rectangle"]
    colour = [] if not element.props.get("color") else ["text-primary"] if kind in {"flat", "outline"} else ["bg-primary", "text-white"]
    label, icon = _read(element, "label"), _read(element, "icon")
    shown = _write_icon(icon, "on-left" if label else "") if icon else ""
    return _draw_button(f"q-btn--{kind}", *flags, *shape, *colour, *element.classes, inside=shown + _write_words(label))


def _write_choice(element: Element) -> str:
    """Return buttons of which one is chosen, as they look."""
    flags = [name for flag, name in _BUTTON_FLAGS.items() if flag in element.props]
    chosen, drawn = element.props.get("model-value"), []
    for option in element.props.get("options") or ():
        colour = ["bg-primary", "text-white"] if option.get("value") == chosen else []
        words = _write_words(str(option.get("label", "")))
        drawn.append(_draw_button("q-btn--standard", "q-btn--rectangle", *flags, *colour, inside=words))
    return f'<div class="q-btn-group row no-wrap inline">{"".join(drawn)}</div>'


def _draw_button(*classes: str, inside: str) -> str:
    content = f'<span class="q-btn__content text-center col items-center q-anchor--skip justify-center row">{inside}</span>'
    return f'<div class="{_BUTTON} {escape(" ".join(classes))}">{content}</div>'


def _write_words(label: str) -> str:
    return f'<span class="block">{escape(label)}</span>' if label else ""


def _write_field(element: Element) -> str:
    """Return a field as it looks, with its label and what is in it."""
    prop = element.props.get("value") or element.props.get("model-value") or ""
    value = cut_text(str(prop.get("label", "") if isinstance(prop, Mapping) else prop), limit=LONGEST_TEXT)
    names = ["q-field row no-wrap items-start q-field--outlined", *element.classes]
    names += ["q-field--dense"] if "dense" in element.props else []
    names += ["q-field--float"] if value else []
    native = f'<div class="q-field__native">{escape(value)}</div>' if value else ""
    label = f'<div class="q-field__label no-pointer-events absolute ellipsis">{escape(_read(element, "label"))}</div>'
    container = f'<div class="q-field__control-container col relative-position row no-wrap q-anchor--skip">{native}{label}</div>'
    control = f'<div class="q-field__control relative-position row no-wrap">{container}</div>'
    inner = f'<div class="q-field__inner relative-position col self-stretch">{control}</div>'
    return f'<div class="{escape(" ".join(names))}">{inner}</div>'


def escape(text: str) -> str:
    """Return the text so that it is text and nothing else, in HTML, in an attribute, and for scripts that might read it."""
    return escape_html(text).translate(_CODE)


def _read(element: Element, name: str) -> str:
    return cut_text(str(element.props.get(name) or ""), limit=LONGEST_TEXT)
