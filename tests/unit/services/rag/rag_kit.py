"""A running document service over a folder of a test, asked over HTTP without a port."""

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx

from orchestrator.domain.errors import ModelClientError
from orchestrator.domain.models import EmbedAnswer, EmbedRequest, ModelAnswer, ModelRequest
from orchestrator.services.rag.answering import FindModels
from orchestrator.services.rag.building import EmbeddedRag, build_rag_service, connect_embedded
from orchestrator.services.rag.service import RagService
from orchestrator.services.rag.stems import find_terms


@dataclass
class FakeModels:
    """Answers with the next of these texts, and makes vectors that count words of a few themes; an exception among them is raised."""

    answers: list[str | Exception] = field(default_factory=list)
    requests: list[ModelRequest] = field(default_factory=list)
    embedded: list[Sequence[str]] = field(default_factory=list)
    themes: Sequence[Sequence[str]] = ()
    fails_to_embed: bool = False

    async def chat(self, request: ModelRequest, on_delta: object = None, *, on_restart: object = None) -> ModelAnswer:
        self.requests.append(request)
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return ModelAnswer(answer, 10, 5, "fake-model", "stop", 0.1)

    async def embed(self, request: EmbedRequest) -> EmbedAnswer:
        self.embedded.append(request.texts)
        if self.fails_to_embed:
            raise ModelClientError("no vectors today")
        return EmbedAnswer(vectors=[self._embed(text) for text in request.texts], model=request.model or "")

    def _embed(self, text: str) -> list[float]:
        terms = set(find_terms(text))
        return [0.01, *(float(any(stem in terms for word in theme for stem in find_terms(word))) for theme in self.themes)]

    def find_model_name(self, request: ModelRequest) -> str:
        return "fake-model"


@dataclass
class Rag:
    """What a test asks."""

    embedded: EmbeddedRag
    http: httpx.AsyncClient

    async def ask(self, question: str, *, roles: Sequence[str] = (), token: bool = False, **more: Any) -> dict[str, Any]:
        """The body of a successful search."""
        headers = {"Authorization": f"Bearer {self.embedded.token.get_secret_value()}"} if token else {}
        body = {"question": question, **({"roles": list(roles)} if roles else {}), **more}
        answer = await self.http.post("/search", json=body, headers=headers)
        assert answer.status_code == 200, answer.text
        return dict(answer.json())


def write_files(folder: Path, files: Mapping[str, str | bytes]) -> None:
    """Write documents into the folder."""
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())


def build_service(
    place: Path, models: FakeModels | None = None, *, find_models: FindModels | None = None, embedding: str = ""
) -> RagService:
    """A service over place/docs."""
    (place / "docs").mkdir(exist_ok=True)
    find = find_models or ((lambda _: models) if models is not None else None)
    return build_rag_service(
        place / "docs", place / "state", find_models=find, embedding=(models, embedding) if models is not None and embedding else None
    )


@asynccontextmanager
async def run_rag(service: RagService) -> AsyncIterator[Rag]:
    """The service after it has read its documents once."""
    embedded = connect_embedded(service)
    async with service, httpx.AsyncClient(transport=embedded.transport, base_url=embedded.base_url) as http:
        await service.wait_until_read()
        yield Rag(embedded, http)
