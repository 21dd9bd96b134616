from collections.abc import Sequence
from json import dumps
from typing import Final

from nicegui import ui

from bot.console.widgets import cut_text
from bot.plugins.choices import Choice

_LONGEST: Final = 200


def suggest(element: ui.input, choices: Sequence[Choice]) -> None:
    """Anything else may be typed, too."""
    if not choices:
        return
    listed = ui.element("datalist")
    name = f"form-list-{listed.id}"
    element.props["list"] = listed.props["id"] = name
    options = [[choice.value, cut_text(choice.label, limit=_LONGEST)] for choice in choices]
    ui.run_javascript(f"sdelkaForm.suggest({dumps(name)}, {dumps(options)})")
