"""The HTTP door as one FastAPI app: its parts are routers, and it says only that it lives. Ring 3; no pages, no schema, no server name."""

from fastapi import APIRouter, FastAPI


def make_app(*routers: APIRouter) -> FastAPI:
    """The app with these routers and `/healthz`."""
    app = FastAPI(title="Sdelka", openapi_url=None, docs_url=None, redoc_url=None)
    app.include_router(_health())
    for router in routers:
        app.include_router(router)
    return app


def _health() -> APIRouter:
    router = APIRouter()

    @router.get("/healthz")
    async def healthz() -> dict[str, bool]:
        return {"ok": True}

    return router
