"""Knows the styles and scripts of the pages, which browsers keep until another version of the program has others."""

from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Final

from bot.settings.settings import CONSOLE_PATH as ROOT

STATIC: Final = Path(__file__).parent / "static"
"""The styles of all pages, and of each section that has a file of its own name."""


@cache
def find_static_version() -> str:
    """Return what distinguishes these files from those of other versions of the program."""
    digest = sha256()
    for path in sorted(STATIC.iterdir()):
        if path.is_file():
            digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def build_static_url(name: str) -> str:
    """Return the address of the file, with its version: no page waits for a file that the browser has, or is given an older one."""
    return f"{ROOT}/static/{name}?v={find_static_version()}"


def build_style_link(name: str) -> str:
    """Return the HTML that lets a page have this stylesheet."""
    return f'<link rel="stylesheet" href="{build_static_url(name)}">'


def build_script_link(name: str) -> str:
    """Return the HTML that lets a page run this script when it is loaded."""
    return f'<script src="{build_static_url(name)}" defer></script>'
