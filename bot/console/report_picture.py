"""A report as a picture. As an image nothing in it can run or load."""

from base64 import b64encode

from nicegui import ui

from bot.console.visit import Visit
from bot.console.widgets import show_spans
from bot.rendering.pictures.drawing import draw_report, has_picture
from bot.rendering.pictures.palette import THEMES
from bot.rendering.report_caption import render_report_text
from orchestrator.domain.report import ReportAnswer


def show_report(visit: Visit, answer: ReportAnswer) -> None:
    """A table as text."""
    if has_picture(answer):
        show_picture(visit, answer)
    else:
        show_spans(render_report_text(answer, visit.tr))


def show_picture(visit: Visit, answer: ReportAnswer) -> None:
    """In both themes, of which the page shows its own; nothing for a table."""
    words = "".join(span.text for span in render_report_text(answer, visit.tr))
    for theme in THEMES:
        picture = draw_report(answer, visit.tr, theme=theme)
        if picture is not None:
            image = ui.element("img").classes(f"picture picture-{theme}")
            image.props["src"] = f"data:image/svg+xml;base64,{b64encode(picture.svg.encode()).decode()}"
            image.props["alt"] = words
            image.props["width"], image.props["height"] = picture.width, picture.height
