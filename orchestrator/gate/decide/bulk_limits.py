"""Above the policy's limits a second person approves a change of many records, too."""

from collections.abc import Iterator
from decimal import Decimal

from orchestrator.domain.actor import Actor
from orchestrator.domain.outputs import Notice
from orchestrator.gate.call.effect import Facts
from orchestrator.gate.call.policy import Policy
from orchestrator.gate.call.reasons import ask
from orchestrator.gate.normalize.sums import RawSum


def list_exceeded_limits(facts: Facts, policy: Policy, actor: Actor) -> Iterator[Notice]:
    file = facts.bulk
    if file is None:
        return
    limit = policy.bulk.records.get(actor.role)
    if limit is not None and len(file.items) > limit:
        yield ask("gate-bulk-limit", count=len(file.items), limit=limit)
    most = policy.bulk.sum
    if most is None:
        return
    amounts = [policy.money.convert_pair(Decimal(amount), currency, policy.currency) for currency, amount in file.sums.items()]
    known = sum((pair[0] for pair in amounts if pair is not None), Decimal(0))
    if known > most or None in amounts:  # a sum without a rate is above every limit
        yield ask(
            "gate-bulk-sum",
            amount=RawSum(value=f"{known:f}", currency=policy.currency).text,
            limit=RawSum(value=f"{most:f}", currency=policy.currency).text,
        )
