"""Definitions over HTTP: from a draft to a run, with revisions, differences, files and a switch."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from bot.access.access_file import TokenGrant
from tests.unit.bot.http_api.api_kit import Api, an_api, together
from tests.unit.bot.http_api.chat_kit import error_of
from tests.unit.definitions.service_kit import BYE, DELETES, HELLO

WELCOME = "/definitions/steps/welcome"
YAML = "steps:\n  - {name: s0, say: Здравствуйте}  # polite\n"


def is_at(revision: int) -> dict[str, str]:
    return {"If-Match": f'"{revision}"'}


async def create(api: Api, document: Any = HELLO, caller: str = "head", key: str = "welcome", **more: Any) -> dict[str, Any]:
    answer = await api.post("/definitions/steps", {"key": key, "document": document, **more}, caller)
    assert answer.status_code == 201, answer.text
    return dict(answer.json())


async def publish(api: Api, version: int, revision: int = 1, caller: str = "chief", place: str = WELCOME) -> dict[str, Any]:
    answer = await api.post(f"{place}/versions/{version}/publish", {}, caller, **is_at(revision))
    assert answer.status_code == 200, answer.text
    return dict(answer.json())


@pytest.fixture
async def api(tmp_path: Path) -> AsyncIterator[Api]:
    """The product without a definition."""
    async with an_api(tmp_path, documents={}) as api:
        yield api


@pytest.mark.req("S002-7", "S002-8")
async def test_a_draft_becomes_the_version_that_runs_execute(api: Api) -> None:
    """It is created, saved, published and started; each answer has the revision that the next request names."""
    made = await api.post("/definitions/steps", {"key": "welcome", "text": YAML, "title": "Привет", "note": "первая"}, "head")
    assert (made.status_code, made.headers["location"], made.headers["etag"]) == (201, f"{WELCOME}/versions/1", '"1"')
    assert error_of(await api.post("/runs", {"engine": "steps", "definition": "welcome"})) == (409, "definition_unpublished")
    saved = await api.put(f"{WELCOME}/versions/1", {"document": BYE}, "head", **is_at(1))
    assert (saved.status_code, saved.headers["etag"], saved.json()["title"]) == (200, '"2"', "Привет")
    done = await publish(api, 1, 2)
    assert (done["status"], done["active"], done["published_by"], done["document"]) == (
        "published",
        True,
        {"id": "http:chief", "name": "chief"},
        BYE,
    )
    head = await api.get(WELCOME, "head")
    assert head.json() == {
        "kind": "steps",
        "key": "welcome",
        "title": "Привет",
        "enabled": True,
        "active_version": 1,
        "last_version": 1,
        "has_draft": False,
        "revision": int(head.headers["etag"].strip('"')),
        "updated_at": "2026-11-21T12:00:00.000000Z",
        "updated_by": "http:chief",
    }
    run = (await api.post("/runs", {"engine": "steps", "definition": "welcome"})).json()["id"]
    await api.world.idle()
    assert (await api.get(f"/runs/{run}")).json()["result"] == {"s0": "До свидания"}
    entries = (await api.get(f"{WELCOME}/history", "head")).json()["entries"]
    assert [(one["what"], one["by"]["name"], one["note"]) for one in entries] == [
        ("published", "chief", ""),
        ("saved", "head", ""),
        ("created", "head", "первая"),
    ]


async def test_who_comes_too_late_gets_what_is_there_now(api: Api) -> None:
    """409 with the present version and its revision; 428 without a revision; 400 for none that was ever given."""
    await create(api)
    path = f"{WELCOME}/versions/1"
    first, second = await together(*(api.put(path, {"document": one}, "head", **is_at(1)) for one in (BYE, DELETES)))
    late = first if first.status_code == 409 else second
    assert sorted(one.status_code for one in (first, second)) == [200, 409]
    present = late.json()["error"]["present"]
    assert (error_of(late), present["revision"], present["version"]) == ((409, "stale_revision"), 2, 1)
    assert present["document"] == (await api.get(path, "head")).json()["document"]
    for call in (api.put(path, {"document": BYE}, "head"), api.post(f"{path}/publish", {}, "head"), _switch(api, enabled=False)):
        assert error_of(await call) == (428, "revision_needed")
    for given in ("2", "*", 'W/"2"', '"0"', '"2", "3"', '"x"', '"99999999999"', ""):
        answer = await api.put(path, {"document": BYE}, "head", **{"If-Match": given})
        assert error_of(answer) == (400, "invalid_revision"), given
    await publish(api, 1, 2)
    late = await api.put(path, {"document": BYE}, "head", **is_at(3))
    assert (error_of(late), late.json()["error"]["present"]["status"]) == ((409, "not_a_draft"), "published")
    late = await _switch(api, enabled=False, revision=99)
    assert (error_of(late), late.json()["error"]["present"]["active_version"]) == ((409, "stale_revision"), 1)


async def _switch(api: Api, *, enabled: bool, revision: int = 0, caller: str = "head") -> Any:
    return await api.post(f"{WELCOME}/switch", {"enabled": enabled}, caller, **(is_at(revision) if revision else {}))


async def test_a_key_is_switched_off_and_on_as_a_whole(api: Api) -> None:
    await create(api)
    await publish(api, 1)
    head = (await api.get(WELCOME, "head")).json()
    off = await _switch(api, enabled=False, revision=head["revision"])
    assert (off.status_code, off.json()["enabled"], off.headers["etag"]) == (200, False, f'"{head["revision"] + 1}"')
    assert error_of(await api.post("/runs", {"engine": "steps", "definition": "welcome"})) == (409, "definition_off")
    assert (await _switch(api, enabled=True, revision=off.json()["revision"])).json()["enabled"]
    assert (await api.post("/runs", {"engine": "steps", "definition": "welcome"})).status_code == 202


async def test_an_earlier_text_comes_back_as_a_new_version(api: Api) -> None:
    for number, document in enumerate((HELLO, BYE), 1):
        await create(api, document)
        await publish(api, number)
    back = await api.post(f"{WELCOME}/rollback", {"version": 1, "note": "старый лучше"}, "head")
    assert (back.status_code, back.json()["version"], back.json()["document"]) == (201, 3, HELLO)
    versions = (await api.get(f"{WELCOME}/versions", "head")).json()["versions"]
    assert [(one["version"], one["status"], one["active"]) for one in versions] == [
        (3, "draft", False),
        (2, "published", True),
        (1, "published", False),
    ]
    diff = (await api.get(f"{WELCOME}/diff", "head", before=2, after=3)).json()
    assert diff["changes"] == [{"kind": "changed", "path": "steps[0].say", "before": "До свидания", "after": "Здравствуйте"}]
    assert error_of(await api.post(f"{WELCOME}/rollback", {"version": 9}, "head")) == (404, "definition_not_found")


@pytest.mark.req("S002-5")
@pytest.mark.parametrize("form", ["yaml", "json"])
async def test_what_is_exported_is_imported_as_equal_data(tmp_path: Path, form: str) -> None:
    """Whatever texts, numbers and keys it has: the digest, which is of the canonical text, is the same."""
    document = {
        "steps": [
            {"name": "да", "ask": "Какой? 12:30\n  второй", "options": ["yes", "нет", "012", "1e3", 12, 1.5, None, True, {"label": "", "value": {"a b": [[]]}}]},
            {"name": "2026-11-21", "write": "crm.deal.update", "params": {"id": 481, "Ключ": "# no comment", "null": "~"}},
        ]
    }  # fmt: skip
    async with an_api(tmp_path, documents={}) as api:
        made = await create(api, document)
        text = await api.get(f"{WELCOME}/export", "head", format=form)
        assert (text.status_code, text.headers["content-type"].split(";")[0]) == (200, f"application/{form}")
        headers = {"Content-Type": f"application/{form}", "X-API-Key": "head-0123456789abcdef"}
        back = await api.http.post("/definitions/steps/copy/import", content=text.content, headers=headers, params={"note": "копия"})
        assert back.status_code == 201, back.text
        assert (back.json()["document"], back.json()["digest"], back.json()["note"]) == (document, made["digest"], "копия")
        [entry] = (await api.get("/definitions/steps/copy/history", "head")).json()["entries"]
        assert entry["what"] == "imported"


@pytest.mark.req("S002-5")
async def test_a_text_is_exported_as_it_was_handed_in(api: Api) -> None:
    """With comments and order: of a new version, of a file, of a draft that is replaced, and where data alone come after."""
    headers = {"Content-Type": "application/yaml", "X-API-Key": "head-0123456789abcdef"}
    await api.post("/definitions/steps", {"key": "welcome", "text": YAML}, "head")
    assert (await api.get(f"{WELCOME}/export", "head")).text == YAML
    polite = YAML.replace("polite", "very polite")
    await api.http.put(f"{WELCOME}/versions/1", content=polite.encode(), headers={**headers, **is_at(1)})
    assert (await api.get(f"{WELCOME}/export", "head")).text == polite
    await api.put(f"{WELCOME}/versions/1", {"document": BYE}, "head", **is_at(2))
    assert (await api.get(f"{WELCOME}/export", "head")).text == polite.replace("Здравствуйте", "До свидания").replace(
        "До свидания", '"До свидания"'
    )
    await api.http.post("/definitions/steps/copy/import", content=YAML.encode(), headers=headers)
    assert (await api.get("/definitions/steps/copy/export", "head")).text == YAML
    assert (await api.get("/definitions/steps/copy/export", "head", format="json")).json() == HELLO


async def test_nobody_publishes_alone_what_deletes(api: Api) -> None:
    """403 with a sentence that says who may; an employee who did not write it may."""
    api.grants["head"] = TokenGrant(name="x", bitrix_user_id=6)
    await create(api, DELETES)
    path = f"{WELCOME}/versions/1/publish"
    own = await api.post(path, {}, "head", **is_at(1))
    assert error_of(own) == (403, "needs_two_people")
    assert own.json()["error"]["message"] == (
        "It may call crm.deal.delete, so nobody publishes it alone, and http:head wrote a text of it. Who may: leads and administrators "
        "who are employees and none of its writers (http:head)."
    )
    assert error_of(await api.post(path, {}, "chief", **is_at(1))) == (403, "needs_a_person")
    api.grants["chief"] = TokenGrant(name="x", bitrix_user_id=6)
    assert error_of(await api.post(path, {}, "chief", **is_at(1))) == (403, "needs_two_people")
    api.grants["chief"] = TokenGrant(name="x", bitrix_user_id=5)
    assert (await publish(api, 1))["active"]
    checked = (await api.post(f"{WELCOME}/check", {"document": DELETES}, "head")).json()
    assert checked == {"valid": True, "findings": [], "needs_two_people": True, "critical": ["crm.deal.delete"]}


async def test_only_those_who_may_edit_or_publish_see_definitions(tmp_path: Path) -> None:
    async with an_api(tmp_path, documents={}, policy={"definitions": {"steps": {"edit": ["lead"], "publish": ["lead"]}}}) as api:
        await create(api)
        for path in (
            "/definitions/steps",
            WELCOME,
            f"{WELCOME}/versions",
            f"{WELCOME}/versions/1",
            f"{WELCOME}/history",
            f"{WELCOME}/export",
        ):
            for caller in ("site", "chief", "bare"):
                answer = await api.get(path, caller)
                assert error_of(answer) == (403, "not_allowed"), path
                assert "Only leads may read definitions of kind steps" in answer.json()["error"]["message"]
        assert error_of(await api.get(WELCOME, "nobody")) == (401, "unauthorized")
        for caller, count in (("site", 0), ("chief", 0), ("head", 1)):
            assert len((await api.get("/definitions", caller)).json()["definitions"]) == count
        assert error_of(await api.post("/definitions/steps", {"key": "x", "document": HELLO}, "chief")) == (403, "not_allowed")
        api.grants["head"] = TokenGrant(name="x", customers=True)
        assert error_of(await api.post("/definitions/steps", {"key": "x", "document": HELLO}, "head")) == (403, "not_for_customers")


async def test_the_list_goes_page_by_page(api: Api) -> None:
    for number in range(5):
        await create(api, key=f"k{number}")
    found, cursor = [], ""
    while cursor is not None:
        page = (await api.get("/definitions/steps", "head", limit=2, **({"cursor": cursor} if cursor else {}))).json()
        found += [one["key"] for one in page["definitions"]]
        cursor = page["next"]
    assert found == [f"k{number}" for number in range(5)]
    assert error_of(await api.get("/definitions", "head", cursor="WyJlIiwiMTIiXQ")) == (400, "invalid_cursor")
