"""Applications of tests share what FastAPI finds out about endpoints, and nothing else."""

from typing import Annotated, Any

import httpx
import pytest
from fastapi import APIRouter, FastAPI, Query
from fastapi import routing as fastapi_routing
from pydantic import BaseModel

from tests import shared_routes


class Small(BaseModel):
    size: int


class Named(BaseModel):
    name: str


OnlyA, OnlyB = Annotated[str, Query(pattern="a+")], Annotated[str, Query(pattern="b+")]


def build(answer: str, body: type[BaseModel] = Small, rule: Any = OnlyA) -> FastAPI:
    """An application whose one endpoint knows what it was built with."""
    router = APIRouter(prefix="/things", tags=["things"])

    @router.post("", responses={409: {"model": body, "description": "There is one."}})
    async def add(given: body, word: rule) -> dict[str, Any]:  # type: ignore[valid-type]
        return {"answer": answer, "given": given.model_dump(), "word": word}  # type: ignore[attr-defined]

    app = FastAPI()
    app.include_router(router)
    return app


async def post(app: FastAPI, body: Any, word: str) -> tuple[int, Any]:
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app=app), base_url="http://test") as http:
        answer = await http.post("/things", json=body, params={"word": word})
    return answer.status_code, answer.json()


async def test_each_application_calls_its_own_endpoint() -> None:
    """The second is made of what was found for the first, and both go on answering for themselves."""
    first = build("first")
    await post(first, {"size": 3}, "aa")
    known, second = len(shared_routes._found), build("second")
    await post(second, {"size": 3}, "aa")
    assert len(shared_routes._found) == known
    for _ in range(2):
        for app, name in ((first, "first"), (second, "second")):
            assert await post(app, {"size": 3}, "aa") == (200, {"answer": name, "given": {"size": 3}, "word": "aa"})


async def test_other_types_and_other_rules_are_found_out_anew() -> None:
    """The same lines of code with another body or another pattern make another endpoint."""
    build("first")
    assert (await post(build("x", body=Named), {"size": 3}, "aa"))[0] == 422
    assert await post(build("x", body=Named), {"name": "n"}, "aa") == (200, {"answer": "x", "given": {"name": "n"}, "word": "aa"})
    assert (await post(build("x", rule=OnlyB), {"size": 3}, "aa"))[0] == 422
    assert (await post(build("x"), {"size": 3}, "aa"))[0] == 200


def test_applications_describe_themselves_as_without_sharing(monkeypatch: pytest.MonkeyPatch) -> None:
    """The description of an application is the same whether it was the first of its kind, a later one, or built by FastAPI alone."""
    shared = [build("x", body=body).openapi() for body in (Small, Named, Small, Named)]
    monkeypatch.setattr(fastapi_routing, "_populate_api_route_state", shared_routes._populate)
    alone = [build("x", body=body).openapi() for body in (Small, Named)]
    assert shared == alone * 2
