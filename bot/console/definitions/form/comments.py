"""Comments are lost when the form writes a text anew."""

from typing import Final

import yaml

from orchestrator.documents.document import DocumentFormat

_LOADER: Final = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def has_comments(text: str, form: DocumentFormat) -> bool:
    return _has_json_comments(text) if form == "json" else _has_yaml_comments(text)


def _has_yaml_comments(text: str) -> bool:
    """Between tokens stand only space, structure and comments."""
    if "#" not in text:
        return False
    at = 0
    try:
        for token in yaml.scan(text, Loader=_LOADER):
            if "#" in text[at : token.start_mark.index]:
                return True
            at = max(at, token.end_mark.index)
    except yaml.YAMLError:
        return True  # nobody can say, so the person is asked
    return False


def _has_json_comments(text: str) -> bool:
    is_inside, at = False, 0
    while at < len(text):
        sign = text[at]
        if is_inside and sign == "\\":
            at += 1
        elif sign == '"':
            is_inside = not is_inside
        elif not is_inside and sign == "/":
            return True
        at += 1
    return False
