"""The whole judgement of a call: decided, brought to its one form, its fields checked, decided again as it will be sent. Ring 2, pure.

Who may do it at all comes first, so that nobody learns of a record from what is wrong with a call about it.
"""

from orchestrator.gate import field_checks, named_sums
from orchestrator.gate.decide import decide
from orchestrator.gate.effects import Call, Facts, Refuse, Verdict
from orchestrator.gate.params import Refusal
from orchestrator.gate.policy import Policy
from orchestrator.gate.settle import merge_multifields
from orchestrator.messages import Actor, Effect, Mode


def evaluate(call: Call, *, mode: Mode, policy: Policy, actor: Actor, facts: Facts, effect: Effect) -> tuple[Call, Verdict]:
    """The call as it would be sent, and the verdict about exactly that; never raises."""
    verdict = decide(call, mode=mode, policy=policy, actor=actor, facts=facts, effect=effect)
    if isinstance(verdict, Refuse):
        return call, verdict
    try:
        fine = merge_multifields(call, facts)
    except Refusal as refusal:
        return call, refusal.verdict
    text = effect.provenance.person_text
    wrong = field_checks.find_field_problem(fine, facts=facts, actor=actor) or named_sums.check_currencies(
        fine, facts, money=policy.money, text=text
    )
    if wrong is not None:
        return fine, wrong
    return fine, verdict if fine is call else decide(fine, mode=mode, policy=policy, actor=actor, facts=facts, effect=effect)
