"""Flows and agents over HTTP in the seed's words: from a draft to the version that is used, with history, differences and files."""

from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import text

from bot.access.access_file import TokenGrant
from bot.http_api.server.endpoint_context import encode_cursor
from engines.flows.http import listing
from orchestrator.runs.registry import Engines
from tests.unit.bot.http_api.api_kit import together
from tests.unit.bot.http_api.chat_kit import error_of
from tests.unit.engines.flows.flow_kit import agent, flow, step
from tests.unit.engines.flows.http.flows_kit import AGENTS, FLOWS, FlowApi, a_flow_api

YAML = "flowId: offer\nmetadata: {title: Предложение, tags: [продажи]}\nsteps:\n  - {id: draft, agentVersionId: writer}  # first\n"


def names(*agents: str, **fields: Any) -> dict[str, Any]:
    """A flow with a step for each of these agents."""
    last = len(agents) - 1
    return flow(
        *(step(f"s{at}", success="" if at == last else f"s{at + 1}", agentVersionId=one) for at, one in enumerate(agents)), **fields
    )


@pytest.mark.req("S002-7", "S002-8", "S002-X2", "S002-X3", "S002-X4", "S002-57", "S002-A14")
async def test_a_draft_becomes_the_version_that_is_used(tmp_path: Path) -> None:
    """Created as an inactive draft of the next number, replaced, published, and followed by another; the row has the seed's columns."""
    async with a_flow_api(tmp_path) as api:
        writer = await api.hire()
        document = {**names("writer"), "version": 9, "metadata": {"title": "Проба", "description": "О чём", "tags": ["a"]}}
        made = await api.post(FLOWS, {"definition": document, "changeNotes": "первая"}, "head")
        assert (made.status_code, made.headers["location"], made.headers["etag"]) == (201, f"{FLOWS}/{made.json()['id']}", '"1"')
        steps = [{**document["steps"][0], "agentVersionId": writer["id"]}]
        assert made.json() == {
            "id": made.json()["id"],
            "name": "plan",
            "flowId": "plan",
            "version": 1,
            "status": "DRAFT",
            "isActive": False,
            "isEnabled": True,
            "title": "Проба",
            "description": "О чём",
            "tags": ["a"],
            "revision": 1,
            "changeNotes": "первая",
            "createdBy": "http:head",
            "updatedBy": "http:head",
            "createdAt": "2026-11-21T12:00:00.000000Z",
            "updatedAt": "2026-11-21T12:00:00.000000Z",
            "publishedBy": None,
            "publishedAt": None,
            "definition": {**document, "version": 1, "steps": steps},
            "warnings": [],
        }
        place = made.headers["location"]
        saved = await api.put(place, {"definition": names("writer", "writer"), "changeNotes": "вторая"}, "chief", **{"If-Match": '"1"'})
        assert (saved.status_code, saved.json()["revision"], saved.json()["updatedBy"]) == (200, 2, "http:chief")
        assert (await api.get(place)).json() == {**saved.json(), "warnings": []}
        done = await api.post(f"{place}/publish", {"changeNotes": "в работу", "revision": 2})
        told = done.json()
        assert (told["status"], told["isActive"], told["publishedBy"], bool(told["publishedAt"])) == ("PUBLISHED", True, "http:chief", True)
        second = await api.publish(await api.create(names("writer")))
        assert (second["version"], second["isActive"]) == (2, True)
        first = (await api.get(place)).json()
        assert (first["status"], first["isActive"]) == ("PUBLISHED", False)
        entries = (await api.get(f"{place}/history")).json()["entries"]
        assert [(one["version"], one["status"], one["what"], one["changeNotes"], one["createdBy"]) for one in entries] == [
            (2, "PUBLISHED", "published", "", "http:chief"),
            (1, "PUBLISHED", "deactivated", "", "http:chief"),
            (2, "DRAFT", "created", "", "http:chief"),
            (1, "PUBLISHED", "published", "в работу", "http:chief"),
            (1, "DRAFT", "saved", "вторая", "http:chief"),
            (1, "DRAFT", "created", "первая", "http:head"),
        ]


@pytest.mark.req("S002-X4", "S002-58")
async def test_publishing_checks_again_and_is_done_once(tmp_path: Path) -> None:
    """An agent that was switched off since is 422 at its place; what is active already stays as it is, without a new entry."""
    async with a_flow_api(tmp_path) as api:
        writer, other = await api.hire(), await api.hire("other")
        active = await api.publish(await api.create(names("writer")))
        draft = await api.create(names("writer", "other"))
        for one in (writer, other):
            assert (await api.post(f"{AGENTS}/{one['id']}/switch", {"active": False})).json()["isEnabled"] is False
        refused = await api.post(f"{FLOWS}/{draft['id']}/publish")
        assert error_of(refused) == (422, "definition_refused")
        assert [(one["code"], one["path"]) for one in refused.json()["error"]["findings"]] == [
            ("finding-reference-off", "steps[0].agentVersionId"),
            ("finding-reference-off", "steps[1].agentVersionId"),
        ]
        before = (await api.get(f"{FLOWS}/{active['id']}/history")).json()
        assert (await api.publish(active)) == {**active, "warnings": []}
        assert (await api.get(f"{FLOWS}/{active['id']}/history")).json() == before
        for one in (writer, other):
            assert (await api.post(f"{AGENTS}/{one['id']}/switch", {"active": True})).json()["isEnabled"] is True
        late = await api.post(f"{FLOWS}/{draft['id']}/publish", {"revision": 7})
        assert (error_of(late), late.json()["error"]["present"]["revision"], late.json()["error"]["diff"]) == (
            (409, "stale_revision"),
            1,
            [],
        )
        assert (await api.publish(draft))["isActive"]


@pytest.mark.req("S002-X4")
async def test_of_two_editors_the_second_sees_what_differs_and_overwrites_nothing(tmp_path: Path) -> None:
    """409 with what is there now and the way from there to what was sent; the same for a published version. 428 without a revision."""
    async with a_flow_api(tmp_path) as api:
        await api.hire()
        made = await api.create(names("writer"))
        place = f"{FLOWS}/{made['id']}"
        texts = [names("writer", version=1 + len(title), metadata={"title": title}) for title in ("Анна", "Борис")]
        answers = await together(*(api.put(place, {"definition": one, "revision": 1}) for one in texts))
        assert sorted(one.status_code for one in answers) == [200, 409]
        (won,), (lost,) = ([one for one in answers if one.status_code == status] for status in (200, 409))
        error = lost.json()["error"]
        assert (error_of(lost), error["present"]) == ((409, "stale_revision"), {**won.json(), "warnings": []})
        titles = won.json()["title"], {"Анна": "Борис", "Борис": "Анна"}[won.json()["title"]]
        assert error["diff"] == [{"kind": "changed", "path": "metadata.title", "before": titles[0], "after": titles[1]}]
        assert (await api.get(place)).json()["title"] == titles[0]
        assert error_of(await api.put(place, {"definition": texts[0]})) == (428, "revision_needed")
        assert error_of(await api.put(place, {"definition": texts[0]}, **{"If-Match": "2"})) == (400, "invalid_revision")
        await api.publish(made)
        late = await api.put(place, {"definition": names("writer", version=1), "revision": 3})
        assert (error_of(late), late.json()["error"]["present"]["status"]) == ((409, "not_a_draft"), "PUBLISHED")
        assert [one["path"] for one in late.json()["error"]["diff"]] == ["metadata.title"]


@pytest.mark.req("S002-5", "S002-X3")
@pytest.mark.parametrize("form", ["yaml", "json"])
async def test_what_is_exported_is_imported_as_an_equal_flow(tmp_path: Path, form: str) -> None:
    """YAML and JSON are equal in structure: the same definition comes back as the next version."""
    async with a_flow_api(tmp_path) as api:
        await api.hire()
        made = await api.send(FLOWS, YAML.encode(), "application/yaml", changeNotes="из файла")
        assert (made.status_code, made.json()["title"], made.json()["changeNotes"]) == (201, "Предложение", "из файла"), made.text
        file = await api.get(f"{FLOWS}/{made.json()['id']}/export", format=form)
        assert (file.status_code, file.headers["content-type"].split(";")[0]) == (200, f"application/{form}")
        assert file.headers["content-disposition"] == f'attachment; filename="offer.{form}"'
        wrong = await api.send(f"{FLOWS}/import", file.content, f"application/{form}", key="other")
        assert (error_of(wrong)[0], wrong.json()["error"]["findings"][0]["path"]) == (400, "flowId")
        back = await api.send(f"{FLOWS}/import", file.content, f"application/{form}")
        assert (back.status_code, back.json()["version"], back.json()["definition"]) == (201, 2, made.json()["definition"])
        assert [one["what"] for one in (await api.get(f"{FLOWS}/{back.json()['id']}/history")).json()["entries"]] == ["imported", "created"]


@pytest.mark.req("S002-X3")
async def test_versions_are_compared_and_rolled_back(tmp_path: Path) -> None:
    """What changed from the other version, in either direction; an earlier text comes back as a new draft."""
    async with a_flow_api(tmp_path) as api:
        await api.hire()
        first, second = [await api.create(names(*["writer"] * count, version=1)) for count in (1, 2)]
        found = (await api.get(f"{FLOWS}/{second['id']}/diff", **{"with": first["id"]})).json()
        assert (found["before"], found["after"]["version"], found["more"]) == ({"id": first["id"], "name": "plan", "version": 1}, 2, False)
        assert {(one["kind"], one["path"]) for one in found["changes"]} == {
            ("changed", "version"),
            ("added", "steps[0].transitions.onSuccess"),
            ("added", "steps[1]"),
        }
        back = (await api.get(f"{FLOWS}/{first['id']}/diff", **{"with": second["id"]})).json()
        assert {one["kind"] for one in back["changes"]} == {"changed", "removed"}
        rolled = await api.post(f"{FLOWS}/{first['id']}/rollback", {"changeNotes": "лучше было"})
        assert (rolled.status_code, rolled.json()["version"], rolled.json()["changeNotes"]) == (201, 3, "лучше было")
        assert rolled.json()["definition"] == {**first["definition"], "version": 3}
        assert (await api.post(f"{FLOWS}/{first['id']}/rollback")).json()["changeNotes"] == "← v1"
        assert error_of(await api.get(f"{FLOWS}/{first['id']}/diff")) == (400, "invalid_request")


@pytest.mark.req("S002-15")
async def test_flows_are_listed_in_pages_and_searched(tmp_path: Path) -> None:
    """By a part of the title or name, by a tag, a status, and whether they are used; a cursor goes on inside of a flow's versions, too."""
    async with a_flow_api(tmp_path) as api:
        await api.hire()
        for key, title, tags in (("a", "Предложение", ["Продажи"]), ("b", "Отчёт", ["продажи", "деньги"]), ("c", "Опрос", [])):
            document = names("writer", flowId=key, metadata={"title": title, "tags": tags})
            await api.publish(await api.create(document))
            await api.create(document)

        async def listed(**query: Any) -> list[str]:
            found, pages = [], 0
            while True:
                page = (await api.get(FLOWS, **query)).json()
                found += [f"{one['flowId']}{one['version']}" for one in page["definitions"]]
                pages += 1
                if page["next"] is None:
                    return found
                assert pages < 10
                query["cursor"] = page["next"]

        everything = ["a2", "a1", "b2", "b1", "c2", "c1"]
        for limit in (1, 2, 3, 5, 6, 100):
            assert await listed(limit=limit) == everything, limit
        assert await listed(q="ПРЕДЛ") == ["a2", "a1"]
        assert await listed(q="b", status="DRAFT") == ["b2"]
        assert await listed(tag="ПРОДАЖИ") == ["a2", "a1", "b2", "b1"]
        assert await listed(tag="деньги", active=True, limit=1) == ["b1"]
        assert await listed(status="PUBLISHED", active=False) == []
        assert await listed(published=True, limit=2) == ["a1", "b1", "c1"]
        row = (await api.get(FLOWS, limit=1)).json()["definitions"][0]
        assert ("definition" in row, row["tags"]) == (False, ["Продажи"])
        for query in ({"limit": 0}, {"limit": 101}, {"status": "draft"}, {"x": 1}):
            assert error_of(await api.get(FLOWS, **query)) == (400, "invalid_request"), query
        for place in (("d", "1"), ("f", "a", "x"), ("f", "nowhere", "1"), ("f", "a/b", "1"), ("f", "", "1")):
            assert error_of(await api.get(FLOWS, cursor=encode_cursor(*place))) == (400, "invalid_cursor"), place


async def test_a_search_that_fits_little_goes_on_from_page_to_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A page looks through a bounded number of versions and documents; `next` goes on behind them until everything was seen."""
    async with a_flow_api(tmp_path) as api:
        await api.hire()
        for key in "abc":
            for tag in ("x", "y", "y"):
                await api.create(names("writer", flowId=key, metadata={"title": key, "tags": [tag]}))
        for bound in ("_MOST_READ", "_MOST_SEEN"):
            with monkeypatch.context() as patch:
                patch.setattr(listing, bound, 2)
                found, query = [], {"tag": "x"}
                for _ in range(10):
                    page = (await api.get(FLOWS, **query)).json()
                    found += [(one["flowId"], one["version"]) for one in page["definitions"]]
                    if page["next"] is None:
                        break
                    query["cursor"] = page["next"]
            assert found == [("a", 1), ("b", 1), ("c", 1)], bound


async def test_a_text_that_was_changed_by_hand_spoils_no_list(tmp_path: Path) -> None:
    """It is listed without what its text says, and asked for itself it is 500 `definition_damaged`."""
    async with a_flow_api(tmp_path) as api:
        await api.hire()
        made = await api.create(names("writer", metadata={"title": "Проба", "tags": ["a"]}))
        await api.create(names("writer", flowId="other"))
        with api.sql._database._dialect.engine.begin() as connection:
            connection.execute(text("UPDATE definition_texts SET document = '{}' WHERE document LIKE '%tags%'"))
        listed = (await api.get(FLOWS)).json()["definitions"]
        assert [(one["flowId"], one["title"], one["tags"]) for one in listed] == [("other", "Проба", []), ("plan", "Проба", [])]
        assert error_of(await api.get(f"{FLOWS}/{made['id']}")) == (500, "definition_damaged")


@pytest.mark.req("S002-12", "S002-54", "S002-X3")
async def test_the_published_active_agents_are_offered(tmp_path: Path) -> None:
    """Id, key, version, title and model of the active version of each agent that is on: what a step may name."""
    async with a_flow_api(tmp_path) as api:
        writer = await api.hire(title="Автор", model="strong")
        await api.create(agent("Новое"), AGENTS, key="writer")
        off = await api.hire("off")
        await api.create(agent(), AGENTS, key="draft")
        await api.post(f"{AGENTS}/{off['id']}/switch", {"active": False, "changeNotes": "жалобы"})
        offered = (await api.get(AGENTS, published=True)).json()
        assert offered["next"] is None
        assert [(one["id"], one["key"], one["version"], one["title"], one["model"]) for one in offered["agents"]] == [
            (writer["id"], "writer", 1, "Автор", "strong")
        ]
        assert [(one["key"], one["version"]) for one in (await api.get(AGENTS)).json()["agents"]] == [
            ("draft", 1),
            ("off", 1),
            ("writer", 2),
            ("writer", 1),
        ]
        entries = (await api.get(f"{AGENTS}/{off['id']}/history")).json()["entries"]
        assert (entries[0]["what"], entries[0]["changeNotes"]) == ("switched_off", "жалобы")
        saved = await api.create(names(writer["id"].upper()))
        assert saved["definition"]["steps"][0]["agentVersionId"] == writer["id"]
        for one in (writer, off):
            assert (await api.get(f"{FLOWS}/{one['id']}")).status_code == 404


async def test_an_agent_is_edited_and_taken_from_a_file(tmp_path: Path) -> None:
    """The key stands beside it: in the body, or in the address where the body is the agent alone."""
    async with a_flow_api(tmp_path) as api:
        written = "title: Автор\nsystemPrompt: Ты пишешь.\n"
        made = await api.send(AGENTS, written.encode(), "application/yaml", key="writer")
        assert (made.status_code, made.json()["key"], made.json()["title"]) == (201, "writer", "Автор"), made.text
        place = f"{AGENTS}/{made.json()['id']}"
        saved = await api.put(place, {"text": written.replace("пишешь", "читаешь"), "revision": 1})
        assert (saved.status_code, saved.json()["definition"]["systemPrompt"]) == (200, "Ты читаешь.")
        copied = await api.send(f"{AGENTS}/import", (await api.get(f"{place}/export")).content, "application/yaml", key="copy")
        assert copied.json()["definition"] == saved.json()["definition"]
        nameless = await api.send(AGENTS, written.encode(), "application/yaml")
        assert (error_of(nameless), nameless.json()["error"]["findings"][0]["code"]) == (
            (400, "definition_refused"),
            "finding-definition-key",
        )
        wrong = await api.post(AGENTS, {"key": "x", "definition": {"systemPrompt": "", "defaultOptions": {"topP": 2}}})
        assert (error_of(wrong)[0], [one["path"] for one in wrong.json()["error"]["findings"]]) == (
            400,
            ["systemPrompt", "defaultOptions.topP"],
        )


@pytest.mark.req("S002-4", "S002-X4")
async def test_only_those_who_may_edit_or_publish_see_them(tmp_path: Path) -> None:
    """Managers and tokens of customers get nothing, whatever their role; a program without flows says so."""
    async with a_flow_api(tmp_path, policy={"definitions": {"flow": {"publish": ["admin"]}}}) as api:
        writer = await api.hire()
        made = await api.create(names("writer"))
        place = f"{FLOWS}/{made['id']}"
        for path in (FLOWS, place, f"{place}/history", f"{place}/export", AGENTS, f"{AGENTS}/{writer['id']}"):
            assert error_of(await api.get(path, "site")) == (403, "not_allowed"), path
        assert error_of(await api.get(FLOWS, "nobody")) == (401, "unauthorized")
        assert error_of(await api.post(f"{place}/publish", {}, "head")) == (403, "not_allowed")
        api.grants["chief"] = TokenGrant(name="x", customers=True)
        for answer in (
            await api.get(FLOWS),
            await api.get(place),
            await api.post(FLOWS, {"definition": names("writer")}),
            await api.post(f"{FLOWS}/validate", {"definition": {}}),
            await api.put(place, {"definition": names("writer"), "revision": 1}),
            await api.post(f"{place}/publish"),
            await api.post(f"{place}/rollback"),
            await api.post(f"{AGENTS}/{writer['id']}/switch", {"active": False}),
        ):
            assert error_of(answer) == (403, "not_for_customers")
    async with a_flow_api(tmp_path / "bare", Engines()) as api:
        assert error_of(await api.get(FLOWS)) == (404, "kind_not_found")


async def test_what_is_not_there_is_404(tmp_path: Path) -> None:
    """A UUID that is no version, and whatever else stands in the place of an id."""
    async with a_flow_api(tmp_path) as api:
        await _refuse_everywhere(api, "0190bbbb-0000-7000-8000-000000000001", "definition_not_found")
        for wrong in ("offer", "1", "%00", "%F0%9F%98%80", "-" * 36):
            await _refuse_everywhere(api, wrong, "endpoint_not_found")
        made = await api.hire()
        for wrong in ("offer", "", "\x00", "0190bbbb-0000-7000-8000-000000000001"):
            answer = await api.get(f"{AGENTS}/{made['id']}/diff", **{"with": wrong})
            assert error_of(answer) == (404, "definition_not_found"), wrong


async def _refuse_everywhere(api: FlowApi, wrong: str, code: str) -> None:
    for path in (FLOWS, AGENTS):
        place = f"{path}/{wrong}"
        answers = [
            *[await api.get(f"{place}{part}") for part in ("", "/history", "/export")],
            await api.get(f"{place}/diff", **{"with": wrong}),
            *[await api.post(f"{place}{part}") for part in ("/publish", "/rollback")],
            await api.post(f"{place}/switch", {"active": False}),
            await api.put(place, {"definition": {}, "revision": 1}),
        ]
        assert {error_of(one) for one in answers} == {(404, code)}, wrong
