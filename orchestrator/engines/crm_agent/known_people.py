"""Before a person or company is made anew: is it in the portal already? Asks the person who writes; decides nothing. Ring 2."""

from orchestrator.directory.answers import Ambiguous, Unresolved
from orchestrator.directory.duplicates import CREATE, extract_contact_points
from orchestrator.engines.base import TurnContext
from orchestrator.engines.crm_agent.blocks import Step
from orchestrator.engines.crm_agent.work import TurnWork
from orchestrator.messages import Notice
from state.canonical import dumps, hash_text

_ADDS = frozenset({"crm.lead.add", "crm.contact.add", "crm.company.add"})


async def check_known_person(ctx: TurnContext, work: TurnWork, step: Step) -> tuple[str, Ambiguous] | Unresolved | None:
    """The question to be answered first, with the name by which its answer is kept; why the step is not run; None: it goes on."""
    points = extract_contact_points(step.params) if step.method.lower() in _ADDS else {}
    if not points:
        return None
    reference = f"@same:{step.method.lower()}:{hash_text(dumps(points))[:12]}"
    chosen = str(work.resolved.get(reference, ""))
    if chosen == CREATE:
        return None
    if chosen:
        target, _, label = chosen.partition(" ")
        detail = f"nothing was added: the person takes {target}, which is there already; go on with that record"
        return Unresolved(notice=Notice(code="duplicate-taken", args={"label": label}), detail=detail)
    several: Ambiguous | None = await ctx.query("same", points=points, actor=ctx.actor)
    return (reference, several) if several is not None else None
