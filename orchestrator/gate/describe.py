"""What a Call that was kept as plain data knew beside its params: kinds of records and their fields, order of parameters. Pure."""

from dataclasses import replace

from bitrix.catalogue import Catalogue
from orchestrator.gate import batch, params, targets
from orchestrator.gate.effects import Call


def described(call: Call, catalogue: Catalogue) -> Call:
    """`call` as `normalise` made it, after it was stored and read back; nothing that is sent changes but the order of names.

    Stored JSON sorts its keys, and the task.* family reads parameters by position (facts on Bitrix24, pitfall 10).
    """
    if call.kind != "bitrix":
        return call
    if call.commands:
        done: dict[str, Call] = {}
        for command in call.commands:
            done[command.key] = batch.placed(described(command, catalogue), done)
        commands = tuple(done.values())
        entities = {name: entity for command in commands for name, entity in command.entities.items()}
        return replace(call, commands=commands, entities=entities)
    about = targets.entity_name(call.spec, call.params, catalogue)
    own = about if call.spec.entity == "item" else call.spec.entity
    ordered = params.ordered(call.spec, call.params)
    return replace(call, params=ordered, entity=own, entities=targets.definitions(own, about, catalogue=catalogue))
