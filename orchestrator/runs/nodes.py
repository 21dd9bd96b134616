"""Checks what an engine gives to its run, before anything is stored under a wrong name."""

import functools
import re
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final, Literal, Protocol, TypeVar, cast

from orchestrator.domain.outputs import Reply
from orchestrator.domain.taint import Value
from orchestrator.engines.runs import MAX_NODES, Ask, RunFailed, RunResult
from state.canonical import NotCanonical, dumps, to_storable
from state.events.runs import NodeDone, RunWoken

MAX_NAME: Final = 200
MAX_VALUE: Final = 2_000_000
"""Characters of JSON of one node."""
MAX_SHOWN: Final = 40_000
"""Characters of one message or question: about ten messages of Telegram."""
MAX_OPTIONS: Final = 100
"""More buttons do not fit under a message of Telegram."""
MAX_ARG: Final = 200
MAX_DETAIL: Final = 1000

Kind = Literal["say", "memo", "model", "effect", "input", "timer", "run"]
_NAME: Final = re.compile(r"[^\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]+")
_RESERVED: Final = frozenset({"accepted", "closed", "turn"})
"""Last parts of names that the context keeps for itself."""
_SAY: Final = "say/"
_TAKES: Final = frozenset({"text", "contact", "photo", "document"})
F = TypeVar("F", bound=Callable[..., Awaitable[Any]])


class EngineMistake(ValueError):
    """An engine's program is wrong. The person learns only that something failed; the log has this text."""


class NodeNames:
    def __init__(self, done: Mapping[str, NodeDone], woken: Mapping[str, RunWoken]) -> None:
        """`done` and `woken` are what earlier passes stored."""
        self._done, self._woken = done, woken
        self._kinds: dict[str, Kind] = {}
        self._busy: set[str] = set()

    def begin(self, node: str, kind: Kind) -> None:
        """Holds the name until `finish`.

        Raises EngineMistake if the name is bad, of another kind or in use, RunFailed after too many nodes.
        """
        known = self._kinds.get(node) if isinstance(node, str) else None
        if known is None:
            self._add(node, kind)
        elif known != kind:
            raise EngineMistake(f"node {node!r} was a {known} before and is a {kind} now")
        if node in self._busy:
            raise EngineMistake(f"node {node!r} is used twice at the same time")
        self._busy.add(node)

    def finish(self, node: str) -> None:
        self._busy.discard(node)

    def add_message(self, key: str) -> None:
        _check_name(key)
        name = _SAY + key
        if name not in self._kinds:
            self._check_room()
            self._kinds[name] = "say"

    def _add(self, node: str, kind: Kind) -> None:
        _check_name(node)
        if node.startswith(_SAY) or ("/" in node and node.rpartition("/")[2] in _RESERVED):
            raise EngineMistake(f"the name {node!r} is taken by the context itself")
        done, woken = self._done.get(node), self._woken.get(node)
        if done is not None and done.kind != kind:
            raise EngineMistake(f"node {node!r} was a {done.kind} before and is a {kind} now")
        if done is None and woken is not None and kind in {"memo", "model"}:
            raise EngineMistake(f"node {node!r} waited before and is a {kind} now")
        self._check_room()
        self._kinds[node] = kind

    def _check_room(self) -> None:
        if len(self._kinds) >= MAX_NODES:
            raise RunFailed("run-too-long", f"the run has more than {MAX_NODES} nodes", most=MAX_NODES)


class _HasNames(Protocol):
    names: NodeNames


def plays_node(kind: Kind) -> Callable[[F], F]:
    """The method's first argument `node` must name the node."""

    def decorate(method: F) -> F:
        @functools.wraps(method)
        async def play(self: _HasNames, node: str, *args: Any, **kwargs: Any) -> Any:
            self.names.begin(node, kind)
            try:
                return await method(self, node, *args, **kwargs)
            finally:
                self.names.finish(node)

        return cast("F", play)

    return decorate


def _check_name(name: object) -> None:
    """Raises EngineMistake unless it is printable parts divided by single slashes."""
    if not isinstance(name, str) or len(name) > MAX_NAME or not _NAME.fullmatch(name):
        raise EngineMistake(f"a node needs a name of 1 to {MAX_NAME} characters on one line, not {str(name)[:MAX_NAME]!r}")
    if not all(part.strip() for part in name.split("/")):
        raise EngineMistake(f"the name {name!r} of a node has an empty part")


def check_value(node: str, data: object) -> None:
    """Raises RunFailed if the data cannot be stored or is too large."""
    try:
        length = len(dumps(data))
    except NotCanonical as error:
        raise RunFailed("run-bad-value", f"what node {node} gave cannot be stored: {error}", node=node) from error
    if length > MAX_VALUE:
        raise RunFailed("run-large-value", f"node {node} gave {length} characters", node=node, most=MAX_VALUE)


def check_reply(node: str, reply: Reply) -> None:
    """Raises RunFailed if it cannot be stored or would fill the chat."""
    stored = reply.model_dump(mode="json")
    check_value(node, stored)
    if (length := len(dumps(stored))) > MAX_SHOWN:
        raise RunFailed("run-large-value", f"message {node} has {length} characters", node=node, most=MAX_SHOWN)


def check_ask(node: str, ask: Ask) -> None:
    """Raises EngineMistake if nobody can answer it, RunFailed if it cannot be shown."""
    if not ask.options and not ask.controls and not ask.takes and ask.timeout is None:
        raise EngineMistake(f"the question of node {node!r} has no buttons, takes nothing, and never ends")
    if len(ask.options) + len(ask.controls) > MAX_OPTIONS or not ask.takes <= _TAKES:
        raise EngineMistake(f"the question of node {node!r} has {len(ask.options)} buttons and takes {sorted(map(str, ask.takes))}")
    texts = [
        ask.text,
        *(option.label for option in ask.options),
        *([dumps(ask.notice.model_dump(mode="json"))] if ask.notice is not None else []),
    ]
    check_value(node, texts)
    if (length := sum(map(len, texts))) > MAX_SHOWN:
        raise RunFailed("run-large-value", f"the question of node {node} has {length} characters", node=node, most=MAX_SHOWN)


def check_result(result: object) -> RunResult:
    if not isinstance(result, RunResult) or not isinstance(result.value, Value):
        raise EngineMistake(f"the engine gave {type(result).__name__}, or a value without origins, at its end")
    if result.status not in {"done", "failed", "cancelled"} or not isinstance(result.reply, Reply | None):
        raise EngineMistake(f"the engine ended as {result.status!r} with a {type(result.reply).__name__}")
    check_value("result", result.value.data)
    if result.reply is not None:
        check_reply("result", result.reply)
    return result


def trim_args(args: Mapping[str, object]) -> dict[str, object]:
    """Long texts are cut."""
    short = {name: str(arg)[:MAX_ARG] if len(str(arg)) > MAX_ARG else arg for name, arg in args.items()}
    return dict(to_storable(short))
