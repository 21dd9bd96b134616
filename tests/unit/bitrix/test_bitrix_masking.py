import json
import logging
import time
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bitrix import masking
from bitrix.masking import hide_installed, install_log_filter, install_secrets, is_free_of_secrets, mask, mask_value

SECRET = "a1b2c3d4e5f6g7h8"
BOT = "1234567890:AAH" + "x" * 32
WEBHOOK = f"https://portal.example/rest/1/{SECRET}/crm.deal.get"

HIDDEN = [
    WEBHOOK,
    f"https://portal.example/rest/1/{SECRET}",
    f"POST /rest/17/{SECRET}/batch.json HTTP/1.1",
    f"target=b'/rest/1/{SECRET}/profile'",
    f"/rest/api/1/{SECRET}/tasks.task.add",
    json.dumps({"url": WEBHOOK}).replace("/", "\\/"),
    quote(WEBHOOK, safe=""),
    quote(quote(WEBHOOK, safe=""), safe=""),
    f"https://x.example/disk?auth={SECRET}&id=1",
    f"auth[application_token]={SECRET}&auth[domain]=x",
    quote(f"auth[application_token]={SECRET}", safe="="),
    f"access_token={SECRET}",
    f"refresh_token={SECRET}",
    f"?client_secret={SECRET}&grant_type=refresh_token",
    f"OPENAI_API_KEY={SECRET}",
    f"urlMachine=https://x.example/{SECRET}",
    json.dumps({"urlMachine": f"https://x.example/{SECRET}?x"}),
    json.dumps(json.dumps({"refresh_token": SECRET})),
    repr({"access_token": SECRET, "id": 1}),
    repr({"X-API-Key": SECRET}),
    f"X-API-Key: {SECRET}",
    f"Authorization: Bearer {SECRET}",
    f"Authorization: Basic {SECRET}==",
    f"key sk-{SECRET}",
    f"key sk-proj-{SECRET}_x",
    f"https://api.telegram.org/bot{BOT}/getMe",
    f"http://127.0.0.1:8080/bot12:{SECRET}/getMe",
    f"token {BOT}.",
    f"postgresql://sdelka:{SECRET}@db:5432/sdelka",
]

PLAIN = [
    "",
    "Сделка 410: сумма 1 000 000 ₽, ответственный Иванов",
    "https://portal.example/crm/deal/details/410/",
    "https://portal.example/rest/",
    "the rest/of the path, interest/1/year",
    "author=Ivanov, tokens: 120, secretary=Anna, task-force-of-the-year",
    "max_tokens=400 at 2026-11-21T12:34:56Z, 1234567890:short",
    "Bearer of news; the basic idea",
    json.dumps({"result": {"ID": "410", "TITLE": "rest/1"}}),
]


@pytest.mark.req("S004-A12", "S004-42")
@pytest.mark.parametrize("text", HIDDEN, ids=lambda text: text[:24])
def test_hidden(text: str) -> None:
    """A secret is hidden in any wrapping."""
    masked = mask(f"before {text} after")
    assert SECRET not in masked
    assert BOT[11:] not in masked
    assert "***" in masked
    assert masked.startswith("before ")
    assert masked.endswith(" after")
    assert mask(masked) == masked


@pytest.mark.parametrize("text", PLAIN)
def test_plain(text: str) -> None:
    """Ordinary text is left alone."""
    assert mask(text) == text


def test_readable() -> None:
    """What is no secret stays readable."""
    assert mask(f"POST {WEBHOOK}?a=1") == "POST https://portal.example/rest/1/***/crm.deal.get?a=1"


@pytest.mark.req("S004-A12")
def test_mask_value() -> None:
    """Data is masked by key and inside strings and is not changed in place."""
    data = {
        "auth": {"access_token": SECRET, "domain": "x"},
        "REFRESH_TOKEN": SECRET,
        "item": {"id": 5, "file": [{"urlMachine": f"https://x/{SECRET}", "note": WEBHOOK}], "token": None},
        WEBHOOK: (True, 1.5, f"auth={SECRET}"),
    }
    kept = json.dumps(data)
    masked = mask_value(data)

    assert SECRET not in json.dumps(masked)
    assert masked["item"]["id"] == 5
    assert masked["item"]["token"] is None
    assert masked["auth"] == "***"
    assert json.dumps(data) == kept
    assert mask_value(masked) == masked


def test_bottomless() -> None:
    """Bottomless data is cut rather than followed."""
    data: dict[str, Any] = {}
    leaf = data
    for _ in range(5_000):
        leaf["a"] = {}
        leaf = leaf["a"]
    leaf["x"] = WEBHOOK
    assert "***" in json.dumps(mask_value(data))


_parts = st.sampled_from([*HIDDEN, *PLAIN, "token", '"', "\\", "=", ":", "/", "auth", "rest/1/", "%2F", "sk-", "bot"])


@pytest.mark.long
@settings(deadline=None)
@given(st.lists(_parts | st.text(max_size=5), max_size=6).map("".join))
def test_idempotent(text: str) -> None:
    """Masking twice is masking once."""
    assert mask(mask(text)) == mask(text)


@pytest.mark.parametrize("piece", ['"token": "', "rest/1/", "auth=", "://a:", "12345678:", "sk-", 'token\\": \\"', "bot"])
def test_linear_time(piece: str) -> None:
    """A long hostile text is masked in time that grows with its length."""
    text = piece * (200_000 // len(piece))
    began = time.process_time()
    mask(text)
    assert time.process_time() - began < 1.0


class Lines(logging.Handler):
    """Keeps the lines that a handler would write."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(self.format(record))


@pytest.fixture
def lines() -> Iterator[list[str]]:
    """What one more handler of the root logger writes; everything is put back afterwards."""
    root, handler = logging.getLogger(), Lines()
    levels = {name: logging.getLogger(name).level for name in ("httpx", "httpcore")}
    before = [(kept, list(kept.filters)) for kept in [*root.handlers, logging.lastResort] if kept]
    root.addHandler(handler)
    yield handler.lines
    root.removeHandler(handler)
    for kept, filters in before:
        kept.filters[:] = filters
    for name, level in levels.items():
        logging.getLogger(name).setLevel(level)


@pytest.mark.req("S004-A12")
def test_log_filter(lines: list[str]) -> None:
    """Log lines arguments and tracebacks are masked."""
    install_log_filter()
    install_log_filter()
    log = logging.getLogger("some.module")
    log.error("called %s with %s", WEBHOOK, {"access_token": SECRET})
    try:
        raise RuntimeError(WEBHOOK)  # noqa: TRY301 - the traceback is what is tested
    except RuntimeError:
        log.exception("failed")
    log.error("badly written %d", WEBHOOK)
    log.error("plain %s", "text", stack_info=True)  # the stack quotes this line: auth=a1b2c3d4e5f6g7h8

    text = "\n".join(lines)
    assert SECRET not in text
    assert "rest/1/***/crm.deal.get" in text
    assert "RuntimeError" in text
    assert "plain text" in text
    assert len(lines) == 4


def test_library_levels(lines: list[str]) -> None:
    """The libraries that log addresses are silenced."""
    logging.getLogger("httpx").setLevel(logging.DEBUG)
    logging.getLogger("httpcore").setLevel(logging.ERROR)
    install_log_filter()
    assert not logging.getLogger("httpx").isEnabledFor(logging.INFO)
    assert logging.getLogger("httpcore").level == logging.ERROR


PIECES = (
    *("token", "tokens", "a-p-i-key", "to\u212aen", "auth", "auth_id", "API_KEY", "machine", "interest", "Ромашка", "\u212a"),
    *("https://x.bitrix24.ru/rest/7/abcdef123/", "\nrest/1/code", "://u:pw@h", "x-api-key: abc", "Bearer abcdefghijkl", "sk-abcdefgh12"),
    *(
        f"123456789:{'A' * 35}",
        f"123456:{'c' * 30}",
        f"12345:{'d' * 35}",
        f"run:019ab0c2-{'e' * 27}",
        f"123456%3A{'b' * 31}",
        "/bot123:abc",
        '{"password": "x"}',
        "auth[application_token]=v",
    ),
    *('"', "'", ":", "=", "\\", "@", "]", "%5D", "%3A", "-", "_", " ", "x"),
)
TEXTS = st.lists(st.sampled_from(PIECES), max_size=4).map("".join)
RECORDS = st.dictionaries(TEXTS, st.recursive(TEXTS | st.none() | st.integers(0, 9), lambda part: st.dictionaries(TEXTS, part, max_size=2)))


@pytest.mark.slow
@given(record=RECORDS)
@settings(max_examples=300, deadline=None)
def test_what_is_passed_as_a_whole_holds_nothing_to_hide(record: dict[str, Any]) -> None:
    """The quick look at a whole record never lets pass what the rules would hide in a part of it."""
    if is_free_of_secrets(orjson.dumps(record)):
        assert mask_value(record) == record


def test_an_ordinary_record_is_passed() -> None:
    """Otherwise the quick look would be of no use; a secret in it is seen."""
    run = "run:019ab0c2-7d1e-7a55-8f0e-3c5d7e9f1a2b"
    record = {
        "v": 2,
        "session": "tg:7",
        "run": run,
        "slot": f"{run}/node",
        "tokens": {"prompt": 1},
        "timestamp": "2026-11-22T06:27:36.882998Z",
        "seconds": 0.5,
    }
    assert is_free_of_secrets(orjson.dumps(record))
    assert not is_free_of_secrets(orjson.dumps(record | {"auth": {"id": 1}}))
    assert not is_free_of_secrets(orjson.dumps(record | {"text": f"123456:{'A' * 30}"}))


@pytest.mark.parametrize("key", sorted(masking._SECRET_KEYS))
def test_a_record_with_a_secret_key_is_not_passed(key: str) -> None:
    """In any case, with separators anywhere, and with the letter that only becomes a "k" in lower case."""
    for form in (key, key.upper(), f"{key[:2]}_{key[2:-1]}-{key[-1]}", key.replace("k", "\u212a")):
        assert not is_free_of_secrets(orjson.dumps({"a": [{form: 1}]})), form


INSTALLED = "kq7w2mz0vx4b8tya"


@pytest.mark.req("S004-A12")
@pytest.mark.parametrize(
    "text", [INSTALLED, INSTALLED.upper(), f"a{INSTALLED}b", "\u200b".join(INSTALLED), "\u00ad".join(INSTALLED), "**".join(INSTALLED)]
)
def test_installed_secrets_are_hidden_by_every_function(text: str) -> None:
    """A value without a form of its own: in text, in data and in keys; the quick look at a document sees it too."""
    document = f'{{"x":"{text}"}}'
    assert (mask(text), is_free_of_secrets(document.encode())) == (text, True)
    install_secrets([INSTALLED, "short"])
    assert text not in mask(text)
    assert not is_free_of_secrets(document.encode())
    assert text not in str(mask_value({text: [{"y": text}]}))
    assert text not in str(hide_installed({"n": 7, "t": ("short", text)}))
    assert hide_installed({"n": 7, "t": ("short",)}) == {"n": 7, "t": ["short"]}


def test_only_installed_secrets_are_taken_out_of_what_people_write() -> None:
    """A token of somebody else may be what a person wants to note: only ours are hidden before the journal."""
    install_secrets([INSTALLED])
    foreign = "пароль клиента: token=abcdefgh12345678"
    assert hide_installed({"text": f"{foreign} {INSTALLED}"}) == {"text": f"{foreign} ***"}
    assert hide_installed(None) is None


def test_a_long_text_that_was_clean_is_searched_for_secrets_that_came_later() -> None:
    """What is remembered of a search holds for the secrets that were searched for, and for exactly this text."""
    text = "Правила работы с порталом. " * 1_000
    install_secrets(["another-secret-0001"])
    assert hide_installed({"t": f"{text}{INSTALLED}"}) == {"t": f"{text}{INSTALLED}"}
    install_secrets([INSTALLED])
    for _ in range(2):
        assert hide_installed({"t": f"{text}{INSTALLED}"}) == {"t": f"{text}***"}
        assert hide_installed({"t": text}) == {"t": text}
