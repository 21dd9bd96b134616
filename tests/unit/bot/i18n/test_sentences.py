"""Messages are parsed one by one, and say what Fluent says that has parsed all files at once."""

from pathlib import Path

import pytest
from fluent.runtime import FluentBundle, FluentResource
from fluent.syntax.ast import Message

from bot.i18n import translate
from bot.i18n.translate import Sentences, Translator
from orchestrator.domain.outputs import Notice

FOLDER = Path(translate.__file__).parent


@pytest.mark.long
@pytest.mark.parametrize("locale", ["ru", "en"])
def test_every_message_of_the_files_is_said_as_by_fluent(locale: str) -> None:
    files = [path.read_text(encoding="utf-8") for path in sorted((FOLDER / locale).glob("*.ftl"))]
    whole, ours = FluentBundle([locale], use_isolating=False), Sentences(locale, files)
    codes = []
    for text in files:
        resource = FluentResource(text)
        whole.add_resource(resource)
        codes += [entry.id.name for entry in resource.body if isinstance(entry, Message)]
    assert len(codes) > 2000
    for code in reversed(codes):
        assert ours.has_message(code)
        pattern = whole.get_message(code).value
        text, errors = whole.format_pattern(pattern, {"count": 2})
        assert ours.format_message(code, {"count": 2}) == (str(text), not errors)


def test_messages_terms_and_circles_that_a_message_refers_to_are_found_wherever_they_stand() -> None:
    ours = Sentences(
        "en",
        [
            "first = { second } and { -house }\n# a comment\n\nloop = { pool }\n",
            "second = two\n    lines { $n ->\n    [one] a\n   *[other] b\n}\n-house = Sdelka\npool = { loop }\nsecond = later\n",
        ],
    )
    assert ours.format_message("first", {"n": 1}) == ("two\nlines a and Sdelka", True)
    assert ours.format_message("first", {}) == ("two\nlines b and Sdelka", False)
    assert ours.has_message("loop")


def test_what_is_no_message_is_none() -> None:
    ours = Sentences("en", ["good = yes\nbad = { $\n-term = x\nonly =\n    .part = x\n"])
    assert [ours.has_message(code) for code in ("good", "bad", "-term", "term", "nothing", "part")] == [True, *[False] * 5]
    assert ours.format_message("only", {}) == ("only", False)
    with pytest.raises(LookupError):
        ours.format_message("nothing", {})


@pytest.mark.parametrize(("number", "said"), [(0, "сделки"), (481, "сделки №481"), (999999, "сделки №999999")])
def test_no_record_has_the_number_0(number: int, said: str) -> None:
    about = {"entity": "deal", "title": "none", "number": number, "method": "crm.deal.update"}
    assert Translator("ru").translate_notice(Notice(code="batch-part", args=about)) == said
