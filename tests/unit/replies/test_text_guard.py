"""What a turn says has no secret of this installation in it, and leads nowhere but to known places."""

from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bitrix.masking import HIDDEN, SecretMask
from orchestrator.domain.outputs import Choice, Notice, Reply, Row, Table, Text
from orchestrator.replies.text_guard import TextGuard

KEY = "n0t-a-pattern/of any+kind"
GUARD = TextGuard(hosts=frozenset({"portal.example"}), secrets=SecretMask([KEY, "short"]))


@pytest.mark.req("S004-A12")
@pytest.mark.parametrize(
    "said",
    [KEY, KEY.upper(), quote(KEY, safe=""), KEY.replace("/", "\\/"), "**n0t**-a-pattern/of any+kind", "\u200b".join(KEY), "`" + KEY + "`"],
)
def test_an_own_secret_is_hidden_however_it_is_written(said: str) -> None:
    """No pattern knows the keys of an installation, so their values are looked for, formatted and encoded ones too."""
    cleaned = GUARD.clean_reply(Reply(parts=(Text(text=f"ключ: {said}!"),)), "", locale="ru")
    assert HIDDEN in cleaned.text
    assert "pattern" not in cleaned.text.replace("*", "").replace("\u200b", "").lower()
    assert "pattern" not in GUARD.clean_partial(f"ключ: {said}!", locale="ru").replace("\u200b", "").lower()


@pytest.mark.req("S004-A12")
def test_secrets_are_hidden_in_every_part_of_a_reply() -> None:
    """In texts, lists, headings, sentences of code, and buttons; what a button sends back stays."""
    table = Table(rows=(Row(label=f"Ромашка {KEY}", url="https://portal.example/481"),))
    notice = Notice(code="portal-refused", args={"text": KEY, "items": [{"method": KEY}], "count": 2})
    reply = Reply(
        parts=(Text(text="webhook https://portal.example/rest/1/abcdef0123456789/"), table),
        sections=((notice, table),),
        notices=(notice,),
        choices=(Choice(token="0a1b2c3d4e5f:0", label=KEY),),
    )
    cleaned = GUARD.clean_reply(reply, "", locale="ru")
    assert KEY not in str(cleaned.model_dump())
    assert "abcdef0123456789" not in cleaned.text
    assert cleaned.choices[0].token == "0a1b2c3d4e5f:0"
    assert cleaned.notices[0].args["count"] == 2


def test_short_values_are_words_and_stay() -> None:
    """A setting of a few letters would blot out ordinary words."""
    assert GUARD.secrets.mask("short and long") == "short and long"


@pytest.mark.req("S004-A12")
def test_the_links_of_a_reply_are_known_hosts_and_the_persons_exact_addresses() -> None:
    """All others are removed; the doors make links of the listed ones only."""
    text = "https://portal.example/a https://client.example/page https://client.example/page?d=150000 https://evil.example/x"
    cleaned = GUARD.clean_reply(Reply(parts=(Text(text=text),)), "см. client.example/page", locale="ru")
    assert cleaned.text == "https://portal.example/a https://client.example/page ⟨ссылка убрана⟩ ⟨ссылка убрана⟩"
    assert cleaned.links == ("https://portal.example/a", "https://client.example/page")


@pytest.mark.long
@given(st.from_regex(r"\A\w{1,7}\Z").filter(str.isalnum))
def test_a_word_that_is_too_short_for_a_secret_is_what_a_thorough_look_would_leave(word: str) -> None:
    """The states of steps in pictures of progress are not searched; a longer word and one with other signs are."""
    assert GUARD.clean_data({"state": word}, locale="ru") == {"state": GUARD.clean_partial(word, locale="ru")}
    assert GUARD.clean_data([KEY], locale="ru") == [GUARD.clean_partial(KEY, locale="ru")]
    assert GUARD.clean_data([KEY], locale="ru") != [KEY]
