"""The three sandbox servers as processes of their own, started together and stopped together."""

import json
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.forker import forked

ROOT = Path(__file__).resolve().parents[2]
TOKEN = "1:sandbox"


@dataclass(frozen=True)
class Servers:
    """Where the servers listen."""

    portal: str
    webhook: str
    telegram: str
    model: str
    gigachat: str

    @property
    def model_root(self) -> str:
        """The address of the model without its version segment."""
        return self.model.removesuffix("/v1")


@contextmanager
def running_servers() -> Iterator[Servers]:
    """Start portal (without its rate limit), Telegram and model; each says on its first line where it listens."""
    started = [_start("portal", "--bucket", "off"), _start("telegram"), _start("model")]
    try:
        said: dict[str, str] = {}
        for process in started:
            assert process.stdout is not None
            said |= json.loads(process.stdout.readline())
        yield Servers(**said)
    finally:
        for process in started:
            process.terminate()
        for process in started:
            process.communicate(timeout=20)


def _start(name: str, *options: str) -> subprocess.Popen[str]:
    command = forked("-m", f"sandbox.{name}", "--port", "0", *options)
    return subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
