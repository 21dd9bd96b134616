"""The conversation of `sdelka ask`, whose output is the seed's word for word (S001-1…85)."""

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from bot.cli.ask_face import FAILED, INTERRUPTED, AskFace, AskPorts
from bot.i18n.translate import Translator
from engines.tool_agent.core.rounds import (
    Line,
    RoundPorts,
    RoundResult,
    build_help,
    list_offered,
    log,
    prefix_note,
    run_round,
    write_log,
)
from engines.tool_agent.core.toolbox import Message, Tool, build_message
from engines.tool_agent.core.tools import TOOLS
from engines.tool_agent.turn_face import build_agent_settings
from orchestrator.engines.base import ModelText, TurnModelRequest
from state.canonical import to_storable_text

CLEAR: Final = "/clear"


@dataclass
class Session:
    ports: AskPorts
    history: list[Line] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.tools: Sequence[Tool[Any]] = list_offered(TOOLS, has_portal=self.ports.find_records is not None)

    def talk(self) -> int:
        """Return the exit code (A4)."""
        note = prefix_note(write_log, "main")
        self._say(build_help(self.tools, self._words))
        note(logging.DEBUG, "AgentStart")
        while True:
            try:
                text = self._read_request()
                result = self.ports.run(self._answer(text)) if text is not None else None
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
        """None if the person leaves. Commands are carried out, and empty lines ask again (X1)."""
        note = prefix_note(write_log, "main")
        while True:
            try:
                text = to_storable_text(self.ports.read_line()).strip()
            except EOFError:
                return None
            command = text.casefold()
            if command in self.ports.settings.exit_commands:
                return None
            if command in self.ports.settings.help_commands:
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
                services=self.ports.services,
                settings=build_agent_settings(self.ports.settings),
                find_records=self.ports.find_records,
            ),
        )

    async def _ask_model(self, request: TurnModelRequest) -> ModelText:
        answer = await self.ports.models.chat(request)
        return ModelText(text=answer.text, prose=request.prose, calls=answer.calls)

    async def _say_async(self, message: Message) -> None:
        self._say(message)

    def _say(self, message: Message) -> None:
        self.ports.show(self._words(message.notice))

    def _say_bye(self) -> None:
        self._say(build_message("ask-bye"))
        prefix_note(write_log, "main")(logging.DEBUG, "AgentEnd")

    @property
    def _words(self) -> Callable[[Any], str]:
        return Translator("ru").translate_notice


ASK_FACE: Final = AskFace(talk=lambda ports: Session(ports).talk(), logger=log.name)
