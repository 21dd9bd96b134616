"""The portal sends messages in the name of the webhook's owner, so the name of the person who writes stands in front of the text."""

from dataclasses import replace
from typing import Final

from bitrix.errors import BitrixError
from orchestrator.domain.actor import Actor
from orchestrator.gate.call.effect import Call, Facts, Sender
from orchestrator.gate.call.fields import find_value
from orchestrator.gate.call.gate_deps import GateDeps
from orchestrator.gate.call.serialization import get_essence
from orchestrator.gate.normalize import batch

_AUTHORED: Final = frozenset({"activity", "comment"})


async def load_sender(call: Call, actor: Actor, deps: GateDeps) -> Sender | None:
    """Never raises errors of the portal: what it does not say is not known, and then the text gets the name."""
    if not any(tells_people(leaf) or lacks_author(leaf) for leaf in call.leaves):
        return None
    reference = deps.records.reference
    try:
        account = await reference.load_account()
    except BitrixError:
        account = 0
    try:
        user = await reference.find_user(actor.bitrix_user_id) if actor.bitrix_user_id is not None else None
    except BitrixError:
        user = None
    return Sender(user=account, person=(user.full_name if user is not None else "") or actor.name)


def tells_people(leaf: Call) -> bool:
    """A text of the call goes to people as the words of whoever the portal knows as the sender."""
    return bool(leaf.spec.signed) or ("N" in leaf.classes and leaf.entity == "activity")


def lacks_author(leaf: Call) -> bool:
    """It adds something to a card whose author the portal takes from the webhook, not from the call."""
    return leaf.spec.verb == "add" and leaf.spec.entity in _AUTHORED and not find_value(leaf.written_fields, leaf.spec.author)


def is_signed(leaf: Call, name: str) -> bool:
    """It has texts for people, and each begins with `name`."""
    texts = [text for field in leaf.spec.signed if isinstance(text := leaf.params.get(field), str) and text.strip()]
    return bool(texts) and all(text.lstrip().startswith(f"{name}:") for text in texts)


def sign_texts(call: Call, facts: Facts, actor: Actor) -> Call:
    """Idempotent; a text that begins with the person's name, as the portal or the settings have it, stays."""
    if facts.sender is None or facts.sender.user == (actor.bitrix_user_id or -1):
        return call
    leaves = tuple(_sign(leaf, facts.sender.person, actor.name) for leaf in call.leaves)
    if leaves == call.leaves:
        return call
    whole = batch.build_batch(call.spec, leaves, halt=call.halt, portal=call.portal) if call.commands else leaves[0]
    return replace(whole, proposed_essence=get_essence(call))


def _sign(leaf: Call, name: str, short_name: str) -> Call:
    signatures = tuple(f"{one}:" for one in (name, short_name) if one)
    texts = {field: text for field in leaf.spec.signed if isinstance(text := leaf.params.get(field), str) and text.strip()}
    signed = {field: f"{name}: {text}" for field, text in texts.items() if not text.lstrip().startswith(signatures)}
    return replace(leaf, params={**leaf.params, **signed}) if signed else leaf
