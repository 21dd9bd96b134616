"""What models leave in an answer that nobody can read: raw bytes of their vocabulary, and words of another script."""

import re
from collections.abc import Iterable
from typing import Final

_BYTES: Final = re.compile(r"(?:<0x[0-9A-F]{2}>)+")
_EAST_ASIAN: Final = re.compile(r"[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af]")


def decode_bytes(text: str) -> str:
    """«<0xD0><0x94>а» is «Да»; bytes that are no text are left out."""
    return _BYTES.sub(lambda run: _decode(run[0]), text)


def _decode(run: str) -> str:
    written = bytes.fromhex(run.replace("<0x", "").replace(">", "")).decode("utf-8", "ignore")
    return "".join(sign for sign in written if sign.isprintable() or sign == "\n")


def has_stray_words(answer: str, known: Iterable[str]) -> bool:
    """Chinese, Japanese or Korean that stands in none of the `known` texts."""
    signs = set(_EAST_ASIAN.findall(answer))
    return bool(signs) and not signs <= set().union(*map(_EAST_ASIAN.findall, known))
