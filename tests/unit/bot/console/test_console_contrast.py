"""The colours of the console: what is text can be read on its ground in both themes."""

import re
from pathlib import Path

import pytest

import bot.console

STATIC = Path(bot.console.__file__).parent / "static"
TEXT, CONTROL = 4.5, 3.0
"""The least contrasts that WCAG 2.1 AA asks for: of text, and of the borders of controls."""
THEMES = (":root, body.body--light", "body.body--dark")
GROUNDS = ("ground", "panel")
TONES = ("accent", "good", "warn", "bad", "live")
PAIRS = (
    *((text, ground, TEXT) for text in ("text", "muted", *TONES) for ground in GROUNDS),
    *((tone, f"{tone}-soft", TEXT) for tone in TONES),
    *(("text", f"{tone}-soft", TEXT) for tone in TONES),
    ("text", "line", TEXT),
    ("panel", "good", TEXT),
    ("panel", "bad", TEXT),
    ("on-primary", "primary", TEXT),
    ("accent", "line", CONTROL),
    *(("control", ground, CONTROL) for ground in GROUNDS),
)


def _read_theme(theme: str) -> dict[str, str]:
    text = (STATIC / "console.css").read_text(encoding="utf-8")
    [rules] = re.findall(rf"^{re.escape(theme)} \{{(.*?)^\}}", text, re.DOTALL | re.MULTILINE)
    return dict(re.findall(r"--([a-z-]+): (#[0-9a-f]{6});", rules))


def _measure(colour: str) -> float:
    """The relative luminance of a colour."""
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    red, green, blue = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def _compare(one: str, other: str) -> float:
    lighter, darker = sorted((_measure(one), _measure(other)), reverse=True)
    return (lighter + 0.05) / (darker + 0.05)


@pytest.mark.req("C-12")
@pytest.mark.parametrize("theme", THEMES)
def test_every_text_stands_out_from_its_ground(theme: str) -> None:
    """Each pair of text and ground has the contrast that AA asks for."""
    colours = _read_theme(theme)
    weak = {f"{text} on {ground}": round(_compare(colours[text], colours[ground]), 2) for text, ground, _ in PAIRS}
    least = {f"{text} on {ground}": least for text, ground, least in PAIRS}

    assert {pair: found for pair, found in weak.items() if found < least[pair]} == {}


@pytest.mark.req("C-12")
def test_every_rule_that_sets_text_on_a_ground_uses_a_measured_pair() -> None:
    """No style sheet sets a colour on a ground in one rule that is not among the pairs above, or a colour that is no variable."""
    known = {(text, ground) for text, ground, _ in PAIRS}
    strange: list[str] = []
    for sheet in sorted(STATIC.glob("*.css")):
        for rule in re.findall(r"\{([^{}]*)\}", sheet.read_text(encoding="utf-8")):
            text = re.search(r"(?<![-\w])color:\s*var\(--([a-z-]+)\)", rule)
            ground = re.search(r"background(?:-color)?:\s*var\(--([a-z-]+)\)", rule)
            if text and ground and (text[1], ground[1]) not in known:
                strange.append(f"{sheet.name}: {text[1]} on {ground[1]}")
            strange += [f"{sheet.name}: {found}" for found in re.findall(r"(?<![-\w])(?:color|background): ?#[0-9a-f]+", rule)]

    assert strange == []


@pytest.mark.req("C-12")
@pytest.mark.parametrize("theme", THEMES)
def test_both_themes_have_the_same_colours(theme: str) -> None:
    """A variable that a sheet uses has a value in each theme."""
    used = {
        name
        for sheet in STATIC.glob("*.css")
        for name in re.findall(r"(?:color|background|border|fill|stroke)[a-z-]*:[^;]*var\(--([a-z-]+)\)", sheet.read_text(encoding="utf-8"))
    }

    assert used
    assert sorted(used - _read_theme(theme).keys() - {"q-primary"}) == []
