"""The command `sdelka ask`: the tool agent of seed 001 in a terminal, whose output is the seed's word for word (S001-1 … 85).

Standard output has nothing but the seed's sentences; everything else is in the log, tool_agent.log in LOG_DIR.
"""

import asyncio
import logging
import sys
import threading
import unicodedata
from collections.abc import Callable, Coroutine, Iterator, Sequence
from contextlib import AsyncExitStack, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from logging.handlers import RotatingFileHandler
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import typer

from bitrix.masking import mask
from bot.composition.model_providers import build_providers
from bot.composition.tool_services import build_agent_settings, build_service_clients, open_documents
from bot.i18n.translate import Translator
from bot.monitoring.logging_setup import configure_logging
from bot.settings.loading import load_settings
from bot.settings.settings import Settings
from orchestrator.domain.errors import SettingsError
from orchestrator.domain.models import Models
from orchestrator.engines.base import ModelText, TurnModelRequest
from orchestrator.engines.tool_agent.rounds import (
    Line,
    RoundPorts,
    RoundResult,
    build_help,
    list_offered,
    prefix_note,
    run_round,
    write_log,
)
from orchestrator.engines.tool_agent.toolbox import FindRecords, Message, Services, Tool, build_message
from orchestrator.engines.tool_agent.tools import TOOLS
from state.canonical import to_storable_text

LOGGER: Final = "orchestrator.engines.tool_agent.rounds"
LOG_FILE: Final = "tool_agent.log"
_LOG_BYTES: Final = 5_000_000
CLEAR: Final = "/clear"
FAILED: Final = 1
INTERRUPTED: Final = 130
READING_SECONDS: Final = 60.0
"""How long the first prompt waits for documents that are read for the first time: a full disk or a large folder must not hide it."""
ReadLine = Callable[[], str]
Show = Callable[[str], None]

if TYPE_CHECKING:
    from bot.composition.title_search import TitleSearch

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
log = logging.getLogger(__name__)


@dataclass
class Session:
    """One conversation in the terminal. `read_line` raises EOFError at the end of input; `run` runs a coroutine to its end."""

    settings: Settings
    models: Models
    services: Services
    read_line: ReadLine
    show: Show
    run: Callable[[Any], RoundResult]
    find_records: FindRecords | None = None
    history: list[Line] = field(default_factory=list)

    def __post_init__(self) -> None:
        """Leave out the tools that cannot work."""
        self.tools: Sequence[Tool[Any]] = list_offered(TOOLS, has_portal=self.find_records is not None)

    def talk(self) -> int:
        """Answer until a person leaves or the model fails; return the exit code (A4)."""
        note = prefix_note(write_log, "main")
        self._say(build_help(self.tools, self._words))
        note(logging.DEBUG, "AgentStart")
        while True:
            try:
                text = self._read_request()
                result = self.run(self._answer(text)) if text is not None else None
            except KeyboardInterrupt:
                self._say_bye()
                return INTERRUPTED
            if result is None:
                self._say_bye()
                return 0
            if result.status == "ended":
                return FAILED
            note(logging.DEBUG, "AgentRestart")

    def _read_request(self) -> str | None:
        """Return the next message; None if the person leaves. Commands are carried out, and empty lines ask again (X1)."""
        note = prefix_note(write_log, "main")
        while True:
            try:
                text = to_storable_text(self.read_line()).strip()
            except EOFError:
                return None
            command = text.casefold()
            if command in self.settings.exit_commands:
                return None
            if command in self.settings.help_commands:
                self._say(build_help(self.tools, self._words))
                note(logging.DEBUG, "AgentHelp")
            elif command == CLEAR:
                self.history.clear()
                self._say(build_message("ask-cleared"))
                note(logging.DEBUG, "AgentClear")
            elif text:
                return text

    async def _answer(self, text: str) -> RoundResult:
        self.history.append(Line("user", text))
        return await run_round(
            self.history,
            self.tools,
            RoundPorts(
                ask=self._ask_model,
                say=self._say_async,
                words=self._words,
                services=self.services,
                settings=build_agent_settings(self.settings),
                find_records=self.find_records,
            ),
        )

    async def _ask_model(self, request: TurnModelRequest) -> ModelText:
        answer = await self.models.chat(request)
        return ModelText(text=answer.text, prose=request.prose, calls=answer.calls)

    async def _say_async(self, message: Message) -> None:
        self._say(message)

    def _say(self, message: Message) -> None:
        self.show(make_printable(self._words(message.notice)))

    def _say_bye(self) -> None:
        self._say(build_message("ask-bye"))
        prefix_note(write_log, "main")(logging.DEBUG, "AgentEnd")

    @property
    def _words(self) -> Callable[[Any], str]:
        return Translator("ru").translate_notice


def make_printable(text: str) -> str:
    """Return the text without signs that would move the cursor, hide text or change its direction; line ends stay."""
    whole = text.replace("\r\n", "\n").replace("\t", " ")
    return "".join(
        sign for sign in whole if sign == "\n" or unicodedata.category(sign) not in {"Cc", "Cf", "Cs", "Zl", "Zp"} or sign == "\u200d"
    )


class LogLines(logging.Formatter):
    """One record a line: time, level, and the message, which begins with the prefix of its step. Further lines are set in."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the lines of a record; a text of others cannot make a line that looks like another record."""
        moment = datetime.fromtimestamp(record.created, UTC).strftime("%Y-%m-%dT%H:%M:%S.%f")[:-3] + "Z"
        first, *others = make_printable(mask(record.getMessage())).split("\n")
        return "\n".join([f"{moment} {record.levelname} {first}", *(f"    {line}" for line in others)])


def open_log(folder: Path, *, verbose: bool) -> None:
    """Write the agent's log into its file in `folder`, and with `verbose` on stderr too. Raises SettingsError."""
    handlers: list[logging.Handler] = [logging.StreamHandler(sys.stderr)] if verbose else []
    try:
        folder.mkdir(0o750, parents=True, exist_ok=True)
        handlers.append(RotatingFileHandler(folder / LOG_FILE, maxBytes=_LOG_BYTES, backupCount=3, encoding="utf-8", errors="replace"))
    except OSError as error:
        raise SettingsError(f"LOG_DIR {folder} cannot be used: {error.strerror}") from None
    logger = logging.getLogger(LOGGER)
    logger.setLevel(logging.DEBUG)
    logger.propagate = False
    for handler in handlers:
        handler.setFormatter(LogLines())
        logger.addHandler(handler)


@app.command()
def ask(verbose: bool = typer.Option(False, "--verbose", help="Show the log on stderr too.")) -> None:  # noqa: FBT001 - an option of typer
    """Ask the tool agent in this terminal: questions about documents, haiku, sums."""
    settings = load_settings()
    configure_logging("ERROR")
    open_log(settings.log_dir, verbose=verbose)
    for stream in (sys.stdin, sys.stdout):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(encoding="utf-8", errors="replace")
    raise typer.Exit(run_ask(settings))


def run_ask(settings: Settings) -> int:
    """Run the conversation with the services of the settings; return the exit code."""
    models = build_providers(settings)
    reader = _open_portal(settings)
    with run_beside() as run:
        stack = AsyncExitStack()
        documents = run(open_documents(settings, stack))
        services = build_service_clients(settings, models.router, documents=documents)
        session = Session(
            settings,
            models.router,
            services,
            read_line=_read_line,
            show=_show,
            run=run,
            find_records=None if reader is None else reader.find_records,
        )
        try:
            if documents is not None:
                run(_wait_until_read(documents.service.wait_until_read()))
            return session.talk()
        except KeyboardInterrupt:
            return INTERRUPTED
        except BrokenPipeError:
            sys.stdout = None  # nobody reads it, and the interpreter would flush it at its end
            return FAILED
        finally:
            run(_close(stack, services, [*models.clients.values(), *([] if reader is None else [reader])]))


@contextmanager
def run_beside() -> Iterator[Callable[[Coroutine[Any, Any, Any]], Any]]:
    """Yield a function that runs a coroutine to its end, in an event loop of another thread.

    The loop goes on while a person thinks at the prompt: the service of documents inside of this program may be the one that keeps the
    index, and who may read what, up to date for others too.
    """
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
        told = "the documents have not been read yet; until then nobody can ask them"
        log.error(told, extra={"action": "documents_unavailable"})  # noqa: TRY400 - the reason says it, a trace adds nothing


def _open_portal(settings: Settings) -> "TitleSearch | None":
    """Return what searches the portal if its webhook is set: a conversation in a terminal only reads there."""
    if settings.bitrix_webhook_url is None:
        return None
    from bot.composition.portal import open_title_search  # noqa: PLC0415 - takes seconds to import, and most sessions need none of it

    return open_title_search(settings, settings.bitrix_webhook_url)


async def _close(stack: AsyncExitStack, services: Any, clients: Sequence[Any]) -> None:
    for one in (services, stack, *clients):
        await one.aclose()


def _read_line() -> str:
    """Return the next line. Only a terminal is shown a prompt: a program that reads standard output gets the seed's sentences alone."""
    return input("> " if sys.stdin.isatty() and sys.stdout.isatty() else "")


def _show(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()
