"""Flows and agents over HTTP in the seed's words: from a draft to the version that is used, with history, differences and files."""

from pathlib import Path
from typing import Any

import pytest

from engines.flows.http import definition_router
from tests.unit.bot.http_api.api_kit import together
from tests.unit.bot.http_api.chat_kit import error_of
from tests.unit.engines.flows.flow_kit import flow, step
from tests.unit.engines.flows.http.flows_kit import FLOWS, a_flow_api

YAML = "flowId: offer\nmetadata: {title: Предложение, tags: [продажи]}\nsteps:\n  - {id: draft, agentVersionId: writer}  # first\n"


def names(*agents: str, **fields: Any) -> dict[str, Any]:
    """A flow with a step for each of these agents."""
    last = len(agents) - 1
    return flow(
        *(step(f"s{at}", success="" if at == last else f"s{at + 1}", agentVersionId=one) for at, one in enumerate(agents)), **fields
    )


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


@pytest.mark.req("S002-15")
async def test_flows_are_listed_in_pages_of_any_size(tmp_path: Path) -> None:
    """A cursor goes on inside of a flow's versions, too."""
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


async def test_a_search_that_fits_little_goes_on_from_page_to_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A page looks through a bounded number of versions and documents; `next` goes on behind them until everything was seen."""
    async with a_flow_api(tmp_path) as api:
        await api.hire()
        for key in "abc":
            for tag in ("x", "y", "y"):
                await api.create(names("writer", flowId=key, metadata={"title": key, "tags": [tag]}))
        for bound in ("_MOST_READ", "_MOST_SEEN"):
            with monkeypatch.context() as patch:
                patch.setattr(definition_router, bound, 2)
                found, query = [], {"tag": "x"}
                for _ in range(10):
                    page = (await api.get(FLOWS, **query)).json()
                    found += [(one["flowId"], one["version"]) for one in page["definitions"]]
                    if page["next"] is None:
                        break
                    query["cursor"] = page["next"]
            assert found == [("a", 1), ("b", 1), ("c", 1)], bound
