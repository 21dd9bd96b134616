"""A parameter of an address that lists things is refused when it is wrong: in the one form of errors, whatever is listed."""

import pytest

from tests.unit.bot.http_api.api_kit import OWN, Api

pytestmark = pytest.mark.req("S004-58")

EVENTS = f"/sessions/{OWN}/events"
WRONG: list[tuple[str, dict[str, str]]] = [
    *(("/audit", {"entity": value}) for value in ("deal", "nothing:5", "deal:0x1")),
    *(("/audit", {"from": value}) for value in ("yesterday", "0001-01-01T00:00:00Z", "2026-11-22T10:00:00")),
    ("/audit", {"person": "Анна"}),
    ("/audit", {"to": "9999-12-31T23:59:59-23:00"}),
    ("/audit", {"from": "2026-11-22T10:00:00Z", "to": "2026-11-21T10:00:00Z"}),
    ("/audit", {"cursor": "WyJhIiwiMSJd"}),
    ("/audit", {"limit": "201"}),
    ("/audit", {"since": "2026-11-22T10:00:00Z"}),
    *(("/confirmations", {"limit": value}) for value in ("0", "x", "101")),
    *(("/confirmations", {"cursor": value}) for value in ("!", "WyJlIiwiMSJd")),
    *(("/confirmations", {"session": value}) for value in ("a\x00b", "сессия")),
    ("/confirmations", {"state": "open"}),
    ("/confirmations", {"nothing": "1"}),
    *(
        (EVENTS, query)
        for query in ({"wait": "31"}, {"wait": "-1"}, {"limit": "0"}, {"after": "?"}, {"after": "WyJlIiwiLTEiXQ"}, {"x": "1"})
    ),
]


@pytest.mark.parametrize(("path", "query"), WRONG)
async def test_a_wrong_parameter_is_400(api: Api, path: str, query: dict[str, str]) -> None:
    """In the one form of errors."""
    if path == EVENTS:
        await api.ask()
    answer = await api.get(path, "site" if path == EVENTS else "chief", **query)
    assert answer.status_code == 400, answer.text
    assert set(answer.json()["error"]) == {"code", "message"}
