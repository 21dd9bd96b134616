"""Events that are posted: what a portal sends is read, what anybody else may send raises one error and nothing else."""

from collections.abc import Mapping
from typing import Any
from urllib.parse import quote, urlencode

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import SecretStr

from bitrix.client.portal_events import FORM, MAX_BYTES, RECORDS, EventError, PortalEvent, is_authentic, parse

TOKEN = "51856fefc120afa4b628cc82d3935cce"
ACCESS = "s6p6eclrvim6da22ft9ch94ekreb52lv"


def posted(**over: Any) -> bytes:
    """The body of facts' vector 36, with other fields."""
    form = {
        "event": "ONCRMDEALUPDATE",
        "event_handler_id": "1",
        "data[FIELDS][ID]": "410",
        "ts": "1790000000",
        "auth[domain]": "romashka.bitrix24.ru",
        "auth[member_id]": "a223c6b3710f85df22e9377d6c4f7553",
        "auth[application_token]": TOKEN,
    }
    return urlencode({name: value for name, value in {**form, **over}.items() if value is not None}).encode()


def test_the_portals_form_is_read() -> None:
    """Vector 36, and what an application's event carries beside it is not kept."""
    event = parse(posted(**{"auth[access_token]": ACCESS, "auth[refresh_token]": ACCESS}), f"{FORM}; charset=UTF-8")
    assert (event.event, event.target, event.action, event.ts) == ("ONCRMDEALUPDATE", "deal:410", "update", 1_790_000_000)
    assert event.domain == "romashka.bitrix24.ru"
    assert event.identity == "a223c6b3710f85df22e9377d6c4f7553:ONCRMDEALUPDATE:deal:410:1790000000"
    assert ACCESS not in repr(event)
    assert TOKEN not in repr(event)


@pytest.mark.parametrize(
    ("name", "data", "target", "action"),
    [
        ("oncrmdealadd", {"FIELDS": {"ID": 5}}, "deal:5", "add"),
        ("ONCRMLEADDELETE", {"FIELDS": {"ID": 5}}, "lead:5", "delete"),
        ("ONCRMDEALMOVETOCATEGORY", {"FIELDS": {"ID": 5, "CATEGORY_ID": 1, "STAGE_ID": "C1:NEW"}}, "deal:5", "update"),
        ("ONCRMDYNAMICITEMUPDATE", {"FIELDS": {"ID": 5, "ENTITY_TYPE_ID": 147}}, "item:147:5", "update"),
        ("ONCRMDYNAMICITEMADD_147", {"FIELDS": {"ID": 5, "ENTITY_TYPE_ID": 147}}, "item:147:5", "add"),
        ("ONCRMDYNAMICITEMADD", {"FIELDS": {"ID": 5}}, "", "add"),
        ("ONTASKADD", {"FIELDS_BEFORE": "undefined", "FIELDS_AFTER": {"ID": 5}, "IS_ACCESSIBLE_AFTER": "undefined"}, "task:5", "add"),
        ("ONTASKDELETE", {"FIELDS_BEFORE": {"ID": 5}, "FIELDS_AFTER": "undefined"}, "task:5", "delete"),
        ("ONCRMDEALUPDATE", {"FIELDS": {"ID": "5; DROP"}}, "", "update"),
        ("ONCRMDEALUPDATE", {"FIELDS": {"ID": "٤"}}, "", "update"),
        ("ONCRMDEALUSERFIELDADD", {"FIELDS": {"ID": 5}}, "", ""),
        ("ONAPPINSTALL", {"VERSION": 1}, "", ""),
        ("ONSOMETHINGNEW", "", "", ""),
    ],
)
def test_the_record_is_told_by_the_name_of_the_event(name: str, data: Any, target: str, action: str) -> None:
    """Of every family of the facts; an unknown name is kept as it is."""
    body = posted(**{"event": name, "data[FIELDS][ID]": None, **flat("data", data)})
    event = parse(body, FORM)
    assert (event.event, event.target, event.action) == (name.upper(), target, action)


def flat(name: str, value: Any) -> dict[str, str]:
    """Bracketed names of nested data."""
    if isinstance(value, Mapping):
        return {inner: text for key, item in value.items() for inner, text in flat(f"{name}[{key}]", item).items()}
    return {name: str(value)}


def test_two_deliveries_are_one_event_and_two_events_are_two() -> None:
    first = parse(posted(), FORM)
    assert parse(posted(**{"event_handler_id": "9", "auth[access_token]": "x"}), FORM).identity == first.identity
    others = [
        posted(ts="1790000001"),
        posted(**{"data[FIELDS][ID]": "411"}),
        posted(event="ONCRMDEALADD"),
        posted(**{"auth[member_id]": "b"}),
    ]
    assert len({first.identity, *(parse(body, FORM).identity for body in others)}) == 5


@pytest.mark.parametrize(
    "body",
    [
        b"", b"{}", b"event=ONCRMDEALUPDATE", b"ts=1", posted(ts="soon"), posted(ts="-1"), posted(event=""), posted(event="a b"), posted(event="x" * 200),
        posted(**{"auth[domain]": "evil host/"}), posted(**{"auth[member_id]": "a\nb"}), b"event[x=1", b"\xff\xfe", posted() + b"&x=%ff",
        posted() + b"&x=%00", b"event=" + b"a[" * 30_000, posted() + b"&y" + b"[a]" * 40 + b"=1", b"&a=1" * 5000, posted() + b"&x=" + b"1" * MAX_BYTES,
    ],
)  # fmt: skip
def test_what_is_no_event_is_one_error_that_repeats_nothing(body: bytes) -> None:
    with pytest.raises(EventError) as caught:
        parse(body, FORM)
    assert len(str(caught.value)) < 60
    assert TOKEN not in str(caught.value)


@pytest.mark.parametrize("content_type", ["", "application/json", "multipart/form-data; boundary=x", "text/plain"])
def test_only_a_form_is_an_event(content_type: str) -> None:
    with pytest.raises(EventError, match="no form"):
        parse(posted(), content_type)


NAMES = st.sampled_from(
    ["event", "ts", "auth", "auth[domain]", "auth[application_token]", "data", "data[FIELDS]", "data[FIELDS][ID]", "data[]", "[", "a[b"]
)
VALUES = st.one_of(st.text(max_size=20), st.sampled_from(["ONCRMDEALUPDATE", "1790000000", "undefined", "5"]))


@pytest.mark.slow
@settings(max_examples=300, deadline=None)
@given(st.lists(st.tuples(NAMES, VALUES), max_size=12) | st.binary(max_size=200))
def test_hostile_bodies_are_an_event_or_the_one_error(parts: Any) -> None:
    body = parts if isinstance(parts, bytes) else "&".join(f"{name}={quote(value)}" for name, value in parts).encode()
    try:
        event = parse(body, FORM)
    except EventError:
        return
    assert event.entity in {"", *(kind for kind, _ in RECORDS.values())} or event.entity.startswith("item:")
    assert 0 <= event.record_id < 10**15


PROOFS = [(TOKEN, [TOKEN]), (TOKEN, ["other", TOKEN]), ("ключ", ["ключ"])]
NO_PROOFS = [(TOKEN, ["other"]), (TOKEN[:-1], [TOKEN]), ("", [TOKEN]), ("", [""]), ("", []), ("x" * 300, ["x" * 300])]


@pytest.mark.parametrize(("given_token", "tokens"), [*PROOFS, *NO_PROOFS])
def test_only_a_whole_known_token_proves_an_event(given_token: str, tokens: list[str]) -> None:
    """No setting, an empty token and a part of one prove nothing."""
    event = parse(posted(**{"auth[application_token]": given_token}), FORM)
    assert is_authentic(event, [SecretStr(token) for token in tokens]) is ((given_token, tokens) in PROOFS)


def test_an_event_without_a_token_proves_nothing() -> None:
    event = PortalEvent(event="ONCRMDEALADD", ts=1)
    assert not is_authentic(event, [SecretStr(""), SecretStr(TOKEN)])
