"""Asks the document service for a person, with the role that opens folders (S001-58, S001-64)."""

from typing import Final

from pydantic import BaseModel, Field, ValidationError

from orchestrator.domain.errors import ServiceFailed
from orchestrator.domain.own_reads import DocumentAnswer, DocumentPassage
from orchestrator.services.http_client import ServiceClients
from state.canonical import to_storable
from state.stored import JsonObject

SERVICE: Final = "rag"
MOST_TEXT: Final = 2_000
"""Characters taken over of a passage."""


class _Found(BaseModel):
    answer: str
    chunk_title_list: list[str]
    chunk_texts: list[str]
    answered_by: str = Field("", max_length=200)
    model: str = Field("", max_length=200)


class DocumentClient:
    """Who asks is told only if the service believes it; else public folders answer."""

    def __init__(self, services: ServiceClients, *, top_k: int) -> None:
        self._services, self._top_k = services, top_k

    async def ask(self, question: str, *, person: str, role: str, top_k: int | None = None) -> DocumentAnswer:
        """What people with this role may read. Raises ServiceFailed."""
        payload: JsonObject = {"question": question, "top_k": top_k or self._top_k}
        if SERVICE in self._services.believed:
            payload = {**payload, "roles": [role] if role else [], "asked_by": person}
        body = to_storable(await self._services.post(SERVICE, "/search", payload))
        if "error" in body:
            raise ServiceFailed(str(body["error"]))
        try:
            reply = _Found.model_validate(body)
        except ValidationError:  # its text quotes the answer
            raise ServiceFailed("the answer has another form") from None
        pairs = zip(reply.chunk_title_list, reply.chunk_texts, strict=False)
        passages = [DocumentPassage(title=title, text=text[:MOST_TEXT]) for title, text in pairs if title or text]
        return DocumentAnswer(answer=reply.answer, passages=passages, answered_by=reply.answered_by, model=reply.model)
