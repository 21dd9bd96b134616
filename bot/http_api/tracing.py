"""Each request gets a trace id, told in the header of its answer; what it begins goes back to it. Ring 3."""

from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from state.clock import generate_id
from state.trace import HEADER, bind_trace

_FIXED_HEADERS = {"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff"}


class TraceHeaders:
    """Outermost of all; answers of the API are for their caller only, so nobody keeps them."""

    def __init__(self, app: ASGIApp) -> None:
        """Wrap `app`."""
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        trace = generate_id()

        async def marked(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(raw=message["headers"])
                headers.setdefault(HEADER, trace)
                for name, value in _FIXED_HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        with bind_trace(trace):
            await self._app(scope, receive, marked)
