"""Browsers keep styles and scripts until another version has others."""

from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Final

from bot.settings.settings import CONSOLE_PATH as ROOT

STATIC: Final = Path(__file__).parent / "static"
"""Of all pages, and of each section that has a file of its own name."""


@cache
def find_static_version() -> str:
    digest = sha256()
    for path in sorted(STATIC.rglob("*")):
        if path.is_file():
            digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def build_static_url(name: str) -> str:
    """With its version: no page is given an older one."""
    return f"{ROOT}/static/{name}?v={find_static_version()}"


def build_style_link(name: str) -> str:
    return f'<link rel="stylesheet" href="{build_static_url(name)}">'


def build_script_link(name: str) -> str:
    return f'<script src="{build_static_url(name)}" defer></script>'
