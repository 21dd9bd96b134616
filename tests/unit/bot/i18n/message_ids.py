"""The message ids of the catalogues, which tests compare with each other and with what the code names."""

from pathlib import Path

from bot.i18n import translate
from bot.plugins.loading import list_texts


def list_message_ids(locale: str) -> set[str]:
    """Return every message id of a language."""
    found: set[str] = set()
    folders = (Path(translate.__file__).parent, *list_texts().values())
    for path in (path for folder in folders for path in (folder / locale).glob("*.ftl")):
        for line in path.read_text(encoding="utf-8").splitlines():
            if line[:1].isalpha() and "=" in line:
                found.add(line.split("=", 1)[0].strip())
    return found
