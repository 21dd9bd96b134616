"""Two collections of texts: pastes in many forms, and honest requests that look like them. Each stays on its side."""

from pathlib import Path

import pytest
import yaml

from orchestrator.language.foreign_text import split_foreign_text

_CORPUS = Path(__file__).parents[2] / "corpus"


def _load(name: str) -> dict[str, list[str]]:
    forms: dict[str, list[str]] = yaml.safe_load((_CORPUS / name).read_text(encoding="utf-8"))
    return forms


PASTES = _load("pastes.yaml")
OWN_WORDS = _load("own_words.yaml")


@pytest.mark.req("S004-A1")
@pytest.mark.parametrize("form", PASTES)
def test_a_paste_in_any_form_is_text_of_others(form: str) -> None:
    """The record that stands in the paste is not among the person's words, and the paste is not lost."""
    split = {text: split_foreign_text(text) for text in PASTES[form]}
    assert [text for text, parts in split.items() if "482" in parts.own or "482" not in parts.foreign] == []


@pytest.mark.parametrize("form", OWN_WORDS)
def test_requests_that_look_like_pastes_stay_the_persons_own(form: str) -> None:
    """All of the request stays as it was written, so it costs no card."""
    assert [text for text in OWN_WORDS[form] if split_foreign_text(text) != (text, "")] == []


def test_the_collections_are_large_enough() -> None:
    """Shares of a few texts say nothing."""
    assert len(PASTES) >= 25
    assert sum(map(len, PASTES.values())) >= 150
    assert sum(map(len, OWN_WORDS.values())) >= 60
