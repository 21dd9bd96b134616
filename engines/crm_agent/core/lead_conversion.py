"""The step `lead.convert`: code writes it as one batch, so that one card shows all that a lead becomes."""

from dataclasses import replace
from typing import Final

from engines.crm_agent.core.turn_work import TurnWork
from orchestrator.directory.answers import Ambiguous, Unresolved, to_number
from orchestrator.directory.lead_conversion import CONVERT, Conversion, CustomerQuestion
from orchestrator.domain.outputs import Notice
from orchestrator.engines.base import TurnContext
from orchestrator.engines.crm_agent.blocks import Step

_ONLY: Final = 'lead.convert takes one parameter, the lead: "@lead:…" or its number; change what it makes in a later step'


async def convert_lead(ctx: TurnContext, work: TurnWork, step: Step) -> Step | tuple[str, Ambiguous] | Unresolved:
    """Return the step in place of `step`, whose names are settled, or (key, question) whether known customers are taken."""
    if step.method.lower() != CONVERT:
        return step
    lead = to_number(step.params.get("lead"))
    if not lead or set(step.params) != {"lead"}:
        return Unresolved(notice=Notice(code="lead-which"), detail=_ONLY)
    plan: Conversion | CustomerQuestion | Unresolved = await ctx.query("convert_lead", lead=lead, actor=ctx.actor, chosen=work.resolved)
    if isinstance(plan, CustomerQuestion):
        return plan.reference, plan.several
    if isinstance(plan, Unresolved):
        return plan
    work.notices.extend(plan.left)
    return replace(step, method="batch", params=plan.params)
