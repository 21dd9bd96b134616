"""`sdelka ask`: its output is the sentences of seed 001 alone (S001-1 … 85); all else is in tool_agent.log in LOG_DIR."""

import asyncio
import logging
import re
import sys
import threading
import unicodedata
from collections.abc import Callable, Coroutine, Iterator, Sequence
from contextlib import AsyncExitStack, contextmanager
from datetime import UTC, datetime
from functools import partial
from logging.handlers import RotatingFileHandler
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import typer

from bitrix.masking import mask
from bot.cli.ask_face import ASK_FACE, FAILED, INTERRUPTED, AskFace, AskPorts
from bot.composition.model_checks import find_mute_reason
from bot.composition.model_providers import build_providers
from bot.composition.tool_services import build_service_clients, open_documents
from bot.monitoring.logging_setup import configure_logging
from bot.plugins.loading import list_parts
from bot.settings.loading import load_settings
from bot.settings.settings import Settings
from orchestrator.domain.errors import SettingsError
from orchestrator.model_client.plain_calls import PlainClient

LOG_FILE: Final = "tool_agent.log"
REQUESTS: Final = "orchestrator.model_client"
"""Requests to models: stack traces of failures; with --verbose questions and answers."""
_PREFIX: Final = re.compile(r"\[[a-z]+\] ")
_LOG_BYTES: Final = 5_000_000
READING_SECONDS: Final = 60.0
"""How long the first prompt waits for documents: a full disk or a large folder must not hide it."""

if TYPE_CHECKING:
    from bot.composition.portal import TitleSearch

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
log = logging.getLogger(__name__)


def make_printable(text: str) -> str:
    """Without signs that move the cursor, hide text or change its direction; line ends stay."""
    whole = text.replace("\r\n", "\n").replace("\t", " ")
    return "".join(
        sign for sign in whole if sign == "\n" or unicodedata.category(sign) not in {"Cc", "Cf", "Cs", "Zl", "Zp"} or sign == "\u200d"
    )


class LogLines(logging.Formatter):
    """One record a line, with the prefix of its step; further lines are set in."""

    def __init__(self) -> None:
        super().__init__()
        self._prefix = ""

    def format(self, record: logging.LogRecord) -> str:
        """A text of others cannot make a line that looks like another record."""
        moment = datetime.fromtimestamp(record.created, UTC).strftime("%Y-%m-%dT%H:%M:%S.%f")[:-3] + "Z"
        message = record.getMessage()
        if record.name.startswith(REQUESTS):
            message = self._prefix + message
        elif step := _PREFIX.match(message):
            self._prefix = step[0]
        if record.exc_info:
            message += f"\n{self.formatException(record.exc_info)}"
        first, *others = make_printable(mask(message)).split("\n")
        return "\n".join([f"{moment} {record.levelname} {first}", *(f"    {line}" for line in others)])


def open_log(name: str, folder: Path, *, verbose: bool) -> None:
    """With `verbose` also on stderr. Raises SettingsError."""
    handlers: list[logging.Handler] = [logging.StreamHandler(sys.stderr)] if verbose else []
    try:
        folder.mkdir(0o750, parents=True, exist_ok=True)
        handlers.append(RotatingFileHandler(folder / LOG_FILE, maxBytes=_LOG_BYTES, backupCount=3, encoding="utf-8", errors="replace"))
    except OSError as error:
        raise SettingsError(f"LOG_DIR {folder} cannot be used: {error.strerror}") from None
    for handler in handlers:
        handler.setFormatter(LogLines())
    for logger in map(logging.getLogger, (name, REQUESTS)):
        logger.setLevel(logging.DEBUG)
        logger.propagate = False
        logger.handlers.extend(handlers)


@app.command()
def ask(verbose: bool = typer.Option(False, "--verbose", help="Show the log on stderr too.")) -> None:  # noqa: FBT001 - an option of typer
    """Ask the tool agent in this terminal: questions about documents, haiku, sums."""
    settings = load_settings()
    if reason := find_mute_reason(settings, "tool"):
        raise SettingsError(reason)
    configure_logging("ERROR")
    face = next(iter(list_parts(ASK_FACE).values()), None)
    if face is None:
        raise SettingsError("no engine that answers here can be used; `sdelka doctor` says why")
    open_log(face.logger, settings.log_dir, verbose=verbose)
    for stream in (sys.stdin, sys.stdout):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(encoding="utf-8", errors="replace")
    code = run_ask(face, settings, verbose=verbose)
    if code == FAILED:
        typer.echo(f"Why it ended stands in {settings.log_dir / LOG_FILE}.", err=True)
    raise typer.Exit(code)


def run_ask(face: AskFace, settings: Settings, *, verbose: bool = False) -> int:
    """Returns the exit code; `verbose` logs what models are asked and answer."""
    models = build_providers(settings, wrap=partial(PlainClient, verbose=verbose))
    reader = _open_portal(settings)
    with run_beside() as run:
        stack = AsyncExitStack()
        documents = run(open_documents(settings, stack, models.router, vectors=models.router))
        services = build_service_clients(settings, models.router, documents=documents)
        ports = AskPorts(
            settings=settings,
            models=models.router,
            services=services,
            read_line=_read_line,
            show=_show,
            run=run,
            find_records=None if reader is None else reader.find_records,
        )
        try:
            if documents is not None:
                run(_wait_until_read(documents.service.wait_until_read()))
            return face.talk(ports)
        except KeyboardInterrupt:
            return INTERRUPTED
        except BrokenPipeError:
            sys.stdout = None  # nobody reads it, and the interpreter would flush it at its end
            return FAILED
        finally:
            run(_close(stack, services, [*models.clients.values(), *([] if reader is None else [reader])]))


@contextmanager
def run_beside() -> Iterator[Callable[[Coroutine[Any, Any, Any]], Any]]:
    """Yields a function that runs a coroutine in an event loop of another thread, which goes on while a person thinks."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, name="ask", daemon=True)
    thread.start()

    def run(work: Coroutine[Any, Any, Any]) -> Any:
        future = asyncio.run_coroutine_threadsafe(work, loop)
        try:
            return future.result()
        except KeyboardInterrupt:
            future.cancel()
            raise

    try:
        yield run
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.run_until_complete(loop.shutdown_default_executor())
        loop.close()


async def _wait_until_read(reading: Coroutine[Any, Any, None]) -> None:
    try:
        await asyncio.wait_for(reading, READING_SECONDS)
    except TimeoutError:
        notice = "the documents have not been read yet; until then nobody can ask them"
        log.error(notice, extra={"action": "documents_unavailable"})  # noqa: TRY400 - the reason says it, a trace adds nothing


def _open_portal(settings: Settings) -> "TitleSearch | None":
    if settings.bitrix_webhook_url is None:
        return None
    from bot.composition.portal import open_title_search  # noqa: PLC0415 - takes seconds to import, and most sessions need none of it

    return open_title_search(settings, settings.bitrix_webhook_url)


async def _close(stack: AsyncExitStack, services: Any, clients: Sequence[Any]) -> None:
    for closable in (services, stack, *clients):
        await closable.aclose()


def _read_line() -> str:
    """Only a terminal is shown a prompt."""
    return input("> " if sys.stdin.isatty() and sys.stdout.isatty() else "")


def _show(text: str) -> None:
    sys.stdout.write(f"{make_printable(text)}\n")
    sys.stdout.flush()
