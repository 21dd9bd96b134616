"""Commands whose work is a module of its own."""

import inspect
import pkgutil
from collections.abc import Iterator
from importlib import import_module
from typing import Any, get_type_hints

import typer

import bot.cli.deferred
import engines


def _list_deferred() -> Iterator[tuple[Any, str]]:
    """Each signature whose work lies elsewhere, with the module of it."""
    for package in (bot.cli, engines):
        for found in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            if package is bot.cli or ".terminal" in found.name:
                for app in {
                    id(value): value for value in vars(import_module(found.name)).values() if isinstance(value, typer.Typer)
                }.values():
                    places = [*app.registered_commands, *([app.registered_callback] if app.registered_callback else [])]
                    for callback in (place.callback for place in places):
                        if callback is not None and callback.__code__.co_filename == bot.cli.deferred.__file__:
                            yield inspect.unwrap(callback), inspect.getclosurevars(callback).nonlocals["work"]


def test_the_work_of_a_command_takes_what_its_signature_gives() -> None:
    """A name or a type that differs would be found by whoever calls the command first."""
    deferred = list(_list_deferred())
    assert len(deferred) > 2
    for signature, module in deferred:
        work = getattr(import_module(module), signature.__name__)
        assert get_type_hints(work) == get_type_hints(signature), (module, signature.__name__)
