"""The tool agent as an engine of turns: /ask in chats.

Questions are journaled, so a repeated turn asks no second time. A failure of the model ends the turn, never the bot (A4).
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Final

from engines.tool_agent.core.rounds import Line, RoundPorts, RoundResult, build_help, run_round
from engines.tool_agent.core.toolbox import AgentSettings, Asker, Message, Services, Tool, Words
from engines.tool_agent.core.tools import TOOLS
from orchestrator.directory.answers import FoundRecords, OutcomeView
from orchestrator.domain.effect import Effect, Outcome, Provenance
from orchestrator.domain.outputs import Notice, Reply, Table
from orchestrator.engines.base import EndReason, TurnContext, TurnEnd
from orchestrator.language.text import Locale

NAME: Final = "tool_agent"
SEARCHES: Final = (
    ("crm.deal.list", "%TITLE", ("ID", "TITLE", "OPPORTUNITY", "CURRENCY_ID", "STAGE_ID", "CATEGORY_ID", "ASSIGNED_BY_ID")),
    ("crm.lead.list", "%TITLE", ("ID", "TITLE", "OPPORTUNITY", "CURRENCY_ID", "STATUS_ID", "ASSIGNED_BY_ID")),
    ("crm.contact.list", "%LAST_NAME", ("ID", "NAME", "LAST_NAME", "POST", "COMPANY_ID", "ASSIGNED_BY_ID")),
    ("crm.company.list", "%TITLE", ("ID", "TITLE", "ASSIGNED_BY_ID")),
)


HELP: Final = "ask-help-chat"


class ToolAgent:
    def __init__(
        self,
        *,
        services: Services,
        words: Callable[[Locale], Words],
        settings: AgentSettings,
        exit_commands: Sequence[str] = (),
        help_commands: Sequence[str] = (),
        tools: Sequence[Tool[Any]] = TOOLS,
        tells_asker: bool = False,
    ) -> None:
        """`words` gives, for a language, the function that writes a notice."""
        self._tells_asker = tells_asker
        self._services, self._words, self._settings, self._tools = services, words, settings, tools
        self._exit, self._help = frozenset(exit_commands), frozenset(help_commands)

    async def run(self, ctx: TurnContext) -> TurnEnd:
        """A command word counts only where it is the whole request."""
        words = self._words(ctx.actor.locale)
        text = "\n\n".join(filter(None, (ctx.turn.text, ctx.turn.quoted)))
        command = text.strip().casefold()
        if command in self._exit:
            return _build_end(ctx, (Notice(code="ask-bye"),))
        if not command or command in self._help:
            return _build_end(ctx, (build_help(self._tools, words, HELP).notice,))
        history = _read_history(ctx)
        before = len(history) + 1
        history.append(Line("user", text))
        result = await run_round(history, self._tools, self._build_ports(ctx, words, is_prose=before > 1 or bool(ctx.turn.quoted)))
        spoken = "\n".join(line.content for line in history[before:])
        answer = result.answer
        if answer is not None and answer.parts:
            return TurnEnd(reason="answered", reply=Reply(parts=answer.parts, turn_id=ctx.turn.turn_id), history=spoken)
        return _build_end(ctx, tuple(message.notice for message in result.messages), history=spoken, result=result)

    def _build_ports(self, ctx: TurnContext, words: Words, *, is_prose: bool) -> RoundPorts:
        async def say(message: Message) -> None:
            if message.is_progress:
                await ctx.show_partial(words(message.notice))

        return RoundPorts(
            ask=ctx.ask_model,
            say=say,
            words=words,
            services=self._services,
            settings=self._settings,
            remember=ctx.memo,
            find_records=partial(_find_records, ctx, is_prose=is_prose),
            language=ctx.actor.locale,
            asker=Asker(key=ctx.actor.key, roles=(ctx.actor.role,)) if self._tells_asker else None,
            is_prose=is_prose,
            help_code=HELP,
        )


def _read_history(ctx: TurnContext) -> list[Line]:
    lines = (ctx.state.engine_histories or {}).get(NAME, [])
    return [Line(line.role, line.text) for line in lines if line.turn_id != ctx.turn.turn_id and line.text]


def _build_end(ctx: TurnContext, notices: tuple[Notice, ...], *, history: str = "", result: RoundResult | None = None) -> TurnEnd:
    reason: EndReason = "degraded" if result is not None and result.status == "ended" else "answered"
    return TurnEnd(reason=reason, reply=Reply(notices=notices, turn_id=ctx.turn.turn_id), history=history)


async def _find_records(ctx: TurnContext, name: str, *, is_prose: bool) -> FoundRecords:
    """Search through the gate with the person's rights; the gate is told that the name may come from a text of others."""
    provenance = Provenance(prose=is_prose, pasted=bool(ctx.turn.quoted), person_text=ctx.turn.text)
    tables: list[Table] = []
    problem: Notice | None = None
    has_prose = False
    for number, (method, by, fields) in enumerate(SEARCHES, start=1):
        result = await ctx.submit(
            Effect(
                method=method,
                params={"filter": {by: name}, "select": list(fields), "order": {"ID": "DESC"}},
                proposed_by=NAME,
                provenance=provenance,
                slot=f"{ctx.turn.turn_id}/2/{number}",
            )
        )
        if not isinstance(result, Outcome) or result.status != "succeeded":
            problem = _explain(result) or problem
            continue
        seen: OutcomeView = await ctx.query("present", outcome=result, actor=ctx.actor)
        has_prose = has_prose or seen.prose or result.foreign_text
        if seen.table is not None and seen.table.rows:
            tables.append(seen.table)
    return FoundRecords(tables=tables, problem=None if tables else problem, is_prose=has_prose)


def _explain(result: object) -> Notice | None:
    if isinstance(result, Outcome) and result.status == "planned":
        return Notice(code="ask-find-in-crm-shadow")
    return result.reason if isinstance(result, Outcome) else Notice(code="ask-find-in-crm-waits")
