"""Commands whose work is a module of its own."""

import inspect
import pkgutil
from collections.abc import Iterator
from importlib import import_module
from typing import Any, get_type_hints

import typer

import bot.cli.deferred
import engines


def _list_deferred() -> Iterator[tuple[Any, str, int]]:
    """Each signature whose work lies elsewhere, with the module of it and the number of parameters that the work gets before."""
    for package in (bot.cli, engines):
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            if package is bot.cli or ".terminal" in module.name:
                for app in {
                    id(value): value for value in vars(import_module(module.name)).values() if isinstance(value, typer.Typer)
                }.values():
                    commands = [*app.registered_commands, *([app.registered_callback] if app.registered_callback else [])]
                    for command in (place.callback for place in commands):
                        if command is not None and command.__code__.co_filename == bot.cli.deferred.__file__:
                            given = inspect.getclosurevars(command).nonlocals
                            yield inspect.unwrap(command), given["work"], len(given["before"])


def test_the_work_of_a_command_takes_what_its_signature_gives() -> None:
    """A name or a type that differs would be found by whoever calls the command first."""
    deferred = list(_list_deferred())
    assert len(deferred) > 30
    for signature, module, before in deferred:
        work = getattr(import_module(module), signature.__name__)
        parameters = get_type_hints(work)
        for name in list(inspect.signature(work).parameters)[:before]:
            del parameters[name]
        assert parameters == get_type_hints(signature), (module, signature.__name__)
