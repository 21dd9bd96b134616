"""GET /health, POST /search, GET /documents; `EmbeddedRag` uses them without a port."""

import hmac
import logging
from typing import Annotated, Final

from pydantic import BaseModel, Field, SecretStr, StringConstraints, ValidationError
from starlette.applications import Starlette
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from orchestrator.domain.value_faults import describe_fault
from orchestrator.language.text import Locale
from orchestrator.services.rag.answering import describe_access, describe_problem
from orchestrator.services.rag.index.port import IndexUnavailable
from orchestrator.services.rag.service import NotReady, RagService

LONGEST_QUESTION: Final = 2_000
_LARGEST_BODY: Final = 64_000
_MOST_ROLES: Final = 20

log = logging.getLogger(__name__)

_Role = Annotated[str, Field(min_length=1, max_length=100)]


class SearchRequest(BaseModel, frozen=True):
    """Roles and names count only with the service's token."""

    question: Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=LONGEST_QUESTION)]
    top_k: int | None = Field(None, ge=-1_000_000, le=1_000_000)
    roles: tuple[_Role, ...] = Field((), max_length=_MOST_ROLES)
    asked_by: str = Field("", max_length=200)


class Refusal(Exception):
    def __init__(self, status: int, error: str) -> None:
        super().__init__(error)
        self.status, self.error = status, error


class _Endpoints:
    def __init__(self, service: RagService, token: SecretStr | None) -> None:
        self._service, self._token = service, token

    async def check_health(self, _: Request) -> JSONResponse:
        overview = await self._service.describe()
        if overview.status == "not_ready":
            return JSONResponse({"status": "not_ready"}, 503)
        counts = {"chunks": overview.passages, "documents": overview.documents, "unreadable": len(overview.problems)}
        return JSONResponse({"status": "ok", **counts})

    async def search(self, request: Request) -> JSONResponse:
        is_trusted = self._check_token(request)
        body = await _read_body(request)
        try:
            answer = await self._service.search(
                body.question, body.top_k, body.roles if is_trusted else (), body.asked_by if is_trusted else ""
            )
        except NotReady:
            raise Refusal(500, "Initialization failed") from None
        except IndexUnavailable as error:
            log.error("documents: %s", error.reason, extra={"action": "documents_unavailable"})  # noqa: TRY400 - the reason says it, a trace adds nothing
            raise Refusal(500, "Search failed") from None
        return JSONResponse(
            {
                "question": answer.question,
                "top_k": answer.top_k,
                "answer": answer.answer,
                "chunk_title_list": list(answer.titles),
                "chunk_texts": list(answer.texts),
                "document_names": list(answer.names),
                "document_paths": list(answer.paths),
                "sources": list(answer.sources),
                "shown_texts": list(answer.shown),
                "plain_answer": answer.plain_answer,
                "answered_by": answer.answered_by,
                "model": answer.model,
            }
        )

    async def list_documents(self, request: Request) -> JSONResponse:
        """Return what could not be read and why, and what is wrong with the access file; names of documents need the token."""
        if not self._check_token(request):
            raise Refusal(401, "Unauthorized")
        overview = await self._service.describe()
        locale: Locale = "en" if request.query_params.get("language") == "en" else "ru"
        return JSONResponse(
            {
                "status": overview.status,
                "chunks": overview.passages,
                "documents": overview.documents,
                "unreadable": [
                    {"name": file.name, "code": file.problem.code, "reason": describe_problem(file, locale)}
                    for file in overview.problems
                    if file.problem is not None
                ],
                "access_problems": [describe_access(access_problem, locale) for access_problem in overview.access_problems],
            }
        )

    def _check_token(self, request: Request) -> bool:
        """False without a token. Raises Refusal for another one."""
        scheme, _, sent_token = request.headers.get("authorization", "").partition(" ")
        if not scheme:
            return False
        known = self._token.get_secret_value() if self._token is not None else ""
        if not known or scheme.lower() != "bearer" or not hmac.compare_digest(sent_token.strip().encode(), known.encode()):
            raise Refusal(401, "Unauthorized")
        return True


async def _read_body(request: Request) -> SearchRequest:
    """Raises Refusal."""
    body = bytearray()
    try:
        async for part in request.stream():
            body += part
            if len(body) > _LARGEST_BODY:
                raise Refusal(413, "Request too large")
    except ClientDisconnect:
        raise Refusal(400, "Incomplete request") from None
    try:
        return SearchRequest.model_validate_json(bytes(body))
    except ValidationError as error:
        first = error.errors(include_input=False, include_url=False)[0]
        field = first["loc"][0] if first["loc"] else ""
        is_missing = field == "question" and first["type"] in {"missing", "string_too_short", "string_type"}
        raise Refusal(400, "Missing question" if is_missing else f"{field or 'body'}: {describe_fault(first)}") from None


async def _answer_refusal(_: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, Refusal)  # noqa: S101 - registered for it
    return JSONResponse({"error": error.error}, error.status)


async def _answer_failure(_: Request, __: Exception) -> JSONResponse:
    return JSONResponse({"error": "Internal server error"}, 500)


async def _answer_unavailable(_: Request, __: Exception) -> JSONResponse:
    return JSONResponse({"status": "not_ready"}, 503)


def build_app(service: RagService, token: SecretStr | None = None) -> Starlette:
    """Without a token only public documents can be asked for."""
    endpoints = _Endpoints(service, token)
    return Starlette(
        routes=[
            Route("/health", endpoints.check_health, methods=["GET"]),
            Route("/search", endpoints.search, methods=["POST"]),
            Route("/documents", endpoints.list_documents, methods=["GET"]),
        ],
        exception_handlers={Refusal: _answer_refusal, IndexUnavailable: _answer_unavailable, Exception: _answer_failure},
    )
