"""Has documents read by a worker without secrets, with few rights and little memory: a bad document harms nobody else."""

from dataclasses import dataclass
from typing import Final

from pydantic import ValidationError

from orchestrator.services.rag.document import Problem
from orchestrator.services.rag.parse_worker import ParseOrder, ParseReply
from orchestrator.workers.frames import WorkerLimits
from orchestrator.workers.worker_process import WorkerFailed, WorkerProcess

_WORKER: Final = "orchestrator.services.rag.parse_worker:run_order"
_LIMITS: Final = WorkerLimits(seconds=60.0, cpu_seconds=45.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class ParseLimits:
    """For one document."""

    worker: WorkerLimits = _LIMITS
    largest: int = 50_000_000
    """Bytes."""


class ParserProcess(WorkerProcess):
    def __init__(self, limits: ParseLimits | None = None) -> None:
        self._largest = (limits or ParseLimits()).largest
        super().__init__(_WORKER, (limits or ParseLimits()).worker)

    def parse(self, path: bytes, known_digest: str = "") -> ParseReply:
        """The worker's death is a problem of the document."""
        order = ParseOrder(path=path.hex(), known_digest=known_digest, largest=self._largest)
        try:
            return ParseReply.model_validate_json(self.ask(order.model_dump_json().encode()))
        except WorkerFailed as error:
            return ParseReply(problem=Problem("too_slow" if error.is_late else "crashed"))
        except ValidationError:  # a document has made the worker its own
            self.end()
            return ParseReply(problem=Problem("crashed"))
