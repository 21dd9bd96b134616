from collections.abc import Callable, Coroutine, Mapping, Sequence
from typing import Annotated, Any, Final

from fastapi import Depends, Request, Response

from bot.http_api.definitions.definition_models import to_definition, to_finding, to_version
from bot.http_api.server.callers import ClientOf, Guarded
from bot.http_api.server.errors import ApiError
from bot.http_api.server.tokens import Client
from orchestrator.definitions.reader import KindUnknown
from orchestrator.definitions.rules import Editor, NotAllowed
from orchestrator.domain.finding import DefinitionRefused, Finding
from state.model.definitions import (
    DefinitionDamaged,
    DefinitionKey,
    DefinitionMissing,
    DefinitionsBusy,
    DefinitionUnstorable,
    DefinitionVersion,
    NotADraft,
    StaleRevision,
)


class DefinitionRoute(Guarded):
    """Errors of definitions become answers."""

    @staticmethod
    def translate(error: Exception) -> ApiError:
        return to_api_error(error)

    def get_route_handler(self) -> Callable[[Request], Coroutine[object, None, Response]]:
        """FastAPI calls this once."""
        inner, translate = super().get_route_handler(), self.translate

        async def translated(request: Request) -> Response:
            try:
                return await inner(request)
            except (KindUnknown, NotAllowed, DefinitionRefused, *_STORE_ERRORS) as error:
                raise translate(error) from None

        return translated


_STORE_ERRORS: Final = (DefinitionMissing, StaleRevision, NotADraft, DefinitionsBusy, DefinitionDamaged, DefinitionUnstorable)


def to_api_error(error: Exception) -> ApiError:
    match error:
        case KindUnknown():
            return ApiError(404, "kind_not_found", error.reason)
        case NotAllowed():
            return ApiError(403, error.code, error.reason)
        case DefinitionRefused():
            return refuse(error.findings, 422)
        case DefinitionMissing():
            return ApiError(404, "definition_not_found", f"{str(error)[:1].upper()}{str(error)[1:].removesuffix('.')}.")
        case StaleRevision():
            sentence = f"Somebody else was first: it has revision {error.present.revision} by now. Look at it, and send that in If-Match."
            return ApiError(409, "stale_revision", sentence, more={"present": _describe_present(error.present)})
        case NotADraft():
            sentence = f"Version {error.present.version} is published, so its text stays as it is; make a new version."
            return ApiError(409, "not_a_draft", sentence, more={"present": _describe_present(error.present)})
        case DefinitionUnstorable():
            return ApiError(400, "not_storable", f"It cannot be stored: {error}.")
        case DefinitionDamaged():
            return ApiError(500, "definition_damaged", "The stored text is not the one that was saved: tell operations staff.")
        case _:
            return ApiError(503, "busy", "Somebody else changes definitions at this moment: try again.", headers={"Retry-After": "2"})


def refuse(findings: Sequence[Finding], status: int) -> ApiError:
    mistakes = [to_finding(finding).model_dump() for finding in findings]
    count = sum(finding.severity == "error" for finding in findings)
    first = next((finding for finding in findings if finding.severity == "error"), findings[0])
    place = f"line {first.line}, column {first.column}: " if first.line else ""
    sentence = f"The definition has {count} mistake{'' if count == 1 else 's'}; the first: {place}{first.message}."
    return ApiError(status, "definition_refused", sentence, more={"findings": mistakes})


def _describe_present(present: DefinitionVersion | DefinitionKey) -> Mapping[str, Any]:
    present_version = to_definition(present) if isinstance(present, DefinitionKey) else to_version(present)
    return present_version.model_dump(mode="json")


def to_editor(client: Client) -> Editor:
    return Editor(actor=client.actor, via=client.via, writes_for_customers=client.customers)


async def _resolve_editor(client: ClientOf) -> Editor:
    return to_editor(client)


EditorOf = Annotated[Editor, Depends(_resolve_editor)]
