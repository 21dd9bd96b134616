"""Messages of the registry of people in the words of their reader. Ring 3, pure; no text is markup."""

from collections.abc import Mapping
from typing import Any

from bot.i18n.translate import Translator
from bot.rendering.spans import Spans, build_spans


def render_people_message(body: Mapping[str, Any], tr: Translator) -> Spans:
    """The words of a message of the registry; names are put in as they are, never read as markup."""
    about: Mapping[str, Any] = body.get("about") or {}
    args = {**body.get("args", {}), **({"name": about.get("name") or about.get("key", "")} if about else {})}
    return build_spans(tr.translate(str(body["code"]), **args))
