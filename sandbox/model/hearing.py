"""The transcription endpoint of the demo: it returns the words that the sandbox has stored inside its own voice files.

There is no speech recognition.
"""

from collections.abc import Awaitable, Callable

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse, PlainTextResponse, Response
from starlette.datastructures import UploadFile

from sandbox.model import wire
from sandbox.model.faults import Fault, Faults
from sandbox.telegram.speech import words_of

LARGEST = 25_000_000
"""The largest file in bytes, as in the real service."""


Failed = Callable[[Fault, Request], Awaitable[Response]]


def hearing_routes(faults: Faults, failed: Failed) -> APIRouter:
    """Return the router of POST /audio/transcriptions, which answers as the documentation of the real service describes.

    `faults` are the faults that a test has ordered, and `failed` builds the response for one of them.
    """
    router = APIRouter()

    @router.post("/audio/transcriptions")
    async def transcriptions(request: Request) -> Response:
        fault = faults.next("audio")
        if fault is not None:
            return await failed(fault, request)
        async with request.form(max_files=1, max_fields=20) as form:
            file, model, shape = form.get("file"), form.get("model"), form.get("response_format") or "json"
            if not isinstance(file, UploadFile) or not isinstance(model, str) or not model:
                return _refused("Missing required parameter: 'file' and 'model' are needed.")
            recording = await file.read()
        if len(recording) > LARGEST:
            return JSONResponse(wire.error("Maximum content size limit exceeded", "invalid_request_error"), 413)
        words = words_of(recording)
        if words is None:
            return _refused("Invalid file format.")
        return PlainTextResponse(words) if shape == "text" else JSONResponse({"text": words})

    return router


def _refused(why: str) -> JSONResponse:
    return JSONResponse(wire.error(why, "invalid_request_error"), 400)
