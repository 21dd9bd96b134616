"""Makes the fonts of the pictures and the table of their advances: `python -m tests.pictures.fonts <folder of DejaVuSans.ttf and DejaVuSans-Bold.ttf>`.

Needs fontTools, which is installed for this alone (`pip install fonttools`). No kerning stays: a text is as wide as the sum of its advances.
"""

import json
import sys
from pathlib import Path

FOLDER = Path(__file__).parents[2] / "bot" / "rendering" / "pictures" / "fonts"
FONTS = {"regular": "DejaVuSans.ttf", "bold": "DejaVuSans-Bold.ttf"}
LETTERS = [
    (0x20, 0x7E),
    (0xA0, 0xFF),
    (0x400, 0x45F),
    (0x490, 0x493),
    (0x49A, 0x49B),
    (0x4A2, 0x4A3),
    (0x4AE, 0x4B1),
    (0x4BA, 0x4BB),
    (0x4D8, 0x4D9),
    (0x4E8, 0x4E9),
]
SIGNS = [
    0x2007, 0x2009, 0x2013, 0x2014, 0x2018, 0x2019, 0x201A, 0x201C, 0x201D, 0x201E, 0x2022, 0x2026, 0x202F, 0x2030, 0x20AC, 0x20B4, 0x20B8, 0x20BD,
    0x2116, 0x2190, 0x2191, 0x2192, 0x2193, 0x2211, 0x2212, 0x2248, 0x2264, 0x2265, 0x25A1, 0x25B2, 0x25BC, 0x2713,
]  # fmt: skip


def make_fonts(source: Path) -> None:
    from fontTools import subset, ttLib  # noqa: PLC0415 - not among the dependencies

    marks = [mark for first, last in LETTERS for mark in range(first, last + 1)] + SIGNS
    advances: dict[str, dict[str, int]] = {}
    for style, name in FONTS.items():
        options = subset.Options(
            layout_features=[], hinting=False, name_IDs=[0, 1, 2, 4, 6, 13, 14], drop_tables=["FFTM", "kern", "GDEF", "MATH"]
        )
        font = subset.load_font(source / name, options)
        cutter = subset.Subsetter(options)
        cutter.populate(unicodes=marks)
        cutter.subset(font)
        subset.save_font(font, FOLDER / name, options)
        small = ttLib.TTFont(FOLDER / name)
        widths, names = small["hmtx"].metrics, small.getBestCmap()
        advances[style] = {chr(mark): widths[names[mark]][0] for mark in sorted(names)}
    lines = ",\n".join(f'  "{style}": {json.dumps(table, ensure_ascii=False)}' for style, table in advances.items())
    (FOLDER / "advances.json").write_text(f"{{\n{lines}\n}}\n", encoding="utf-8")


if __name__ == "__main__":
    make_fonts(Path(sys.argv[1]))
