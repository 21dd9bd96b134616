"""Asks the document service for a person, with the role by which it opens folders (S001-58, S001-64)."""

from typing import Final

from pydantic import BaseModel, Field, ValidationError

from orchestrator.domain.errors import ServiceFailed
from orchestrator.domain.own_reads import DocumentAnswer, DocumentPassage
from orchestrator.services.http_client import ServiceClients
from state.canonical import to_storable
from state.stored import JsonObject

SERVICE: Final = "rag"
MOST_TEXT: Final = 2_000
"""The most characters of a passage that are taken over."""


class _Found(BaseModel):
    """A good answer of POST /search."""

    answer: str
    chunk_title_list: list[str]
    chunk_texts: list[str]
    answered_by: str = Field("", max_length=200)
    model: str = Field("", max_length=200)


class DocumentClient:
    """Asks the service what the company's documents say. It is told who asks only if it believes that; else it opens public folders."""

    def __init__(self, services: ServiceClients, *, top_k: int) -> None:
        """Ask through these clients for `top_k` passages."""
        self._services, self._top_k = services, top_k

    async def ask(self, question: str, *, person: str, role: str, top_k: int | None = None) -> DocumentAnswer:
        """Return what the documents say that people with this role may read, by `top_k` passages if it is given. Raises ServiceFailed."""
        asked: JsonObject = {"question": question, "top_k": top_k or self._top_k}
        if SERVICE in self._services.believed:
            asked = {**asked, "roles": [role] if role else [], "asked_by": person}
        body = to_storable(await self._services.post(SERVICE, "/search", asked))
        if "error" in body:
            raise ServiceFailed(str(body["error"]))
        try:
            found = _Found.model_validate(body)
        except ValidationError:  # its text quotes the answer
            raise ServiceFailed("the answer has another form") from None
        pairs = zip(found.chunk_title_list, found.chunk_texts, strict=False)
        passages = [DocumentPassage(title=title, text=text[:MOST_TEXT]) for title, text in pairs if title or text]
        return DocumentAnswer(answer=found.answer, passages=passages, answered_by=found.answered_by, model=found.model)
