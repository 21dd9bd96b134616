"""Sheets of the pictures of reports: `python -m tests.pictures.reports docs/img/reports`. All kinds in both themes, and the twelve hard cases."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import resvg_py

from bot.i18n.translate import Translator
from bot.rendering.pictures.canvas import HIGHEST, WIDTH
from bot.rendering.pictures.drawing import Picture, draw_report
from bot.rendering.pictures.palette import ThemeName
from bot.rendering.pictures.text_width import FONTS
from orchestrator.domain.report import ReportAnswer
from tests.unit.bot.rendering.report_kit import MAKERS, list_edges

THEMES: Final[tuple[ThemeName, ...]] = ("light", "dark")
GAP: Final = 8


def draw(answer: ReportAnswer, theme: ThemeName) -> Picture:
    picture = draw_report(answer, Translator("ru"), theme=theme)
    assert picture is not None
    return picture


def write_sheet(file: Path, rows: Sequence[Sequence[Picture]], zoom: float) -> None:
    parts, y = [], 0
    for row in rows:
        parts += [picture.svg.replace("<svg ", f'<svg x="{x * (WIDTH + GAP)}" y="{y}" ', 1) for x, picture in enumerate(row)]
        y += max(picture.height for picture in row) + GAP
    width = max(map(len, rows)) * (WIDTH + GAP) - GAP
    ground = f'<rect width="{width}" height="{y - GAP}" fill="#8a8f94"/>'
    svg = f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{y - GAP}">{ground}{"".join(parts)}</svg>'
    fonts = [str(path) for path in FONTS.glob("*.ttf")]
    file.write_bytes(bytes(resvg_py.svg_to_bytes(svg_string=svg, zoom=zoom, skip_system_fonts=True, font_files=fonts)))


def write_sheets(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    write_sheet(folder / "kinds.png", [[draw(make(), theme) for make in MAKERS.values()] for theme in THEMES], 1)
    for kind in ("bars", "funnel", "line"):
        for theme in THEMES:
            pictures = [draw(answer, theme) for _, answer in list_edges(kind)]
            assert all(picture.height <= HIGHEST for picture in pictures)
            write_sheet(folder / f"{kind}-{theme}.png", [pictures[:6], pictures[6:]], 0.75)


if __name__ == "__main__":
    write_sheets(Path(sys.argv[1]))
