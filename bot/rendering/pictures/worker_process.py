"""Has PNG files made by a worker."""

from typing import Final

from orchestrator.workers.frames import WorkerLimits
from orchestrator.workers.worker_process import WorkerProcess

_LIMITS: Final = WorkerLimits(seconds=10.0)


class PictureWorker(WorkerProcess):
    def __init__(self, limits: WorkerLimits = _LIMITS) -> None:
        super().__init__("bot.rendering.pictures.worker:render_png", limits)

    def render_png(self, svg: str) -> bytes:
        """Raises WorkerFailed: its text can still be sent."""
        return self.ask(svg.encode())
