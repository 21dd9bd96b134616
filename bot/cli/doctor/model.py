"""Who serves what, whether it answers, its key and models; free of charge without `--spend`."""

import asyncio
import struct
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from dataclasses import dataclass
from typing import Final, TypeVar

from bot.cli.doctor.findings import Area, Finding
from bot.composition.model_checks import describe_chains, find_doubts, lacks_key
from bot.composition.model_providers import build_client, build_model_settings, build_provider
from bot.settings.model_plan import OPENAI, ProviderSpec, find_model_names, find_spec_dialect, load_plan, name_base, name_key
from bot.settings.settings import Settings
from orchestrator.domain.errors import ModelClientError, SettingsError
from orchestrator.domain.models import EmbedRequest, ModelAnswer, ModelRequest, ModelTool
from orchestrator.model_client.client import ModelClient
from orchestrator.model_client.failures import KeyRefused, Unreachable
from orchestrator.model_client.providers import OpenAiProvider
from orchestrator.model_client.settings import ModelSettings
from orchestrator.model_client.transcribe import Transcriber
from state.canonical import dumps
from state.stored import JsonObject

T = TypeVar("T")
_ANSWER_WITHIN: Final = 60.0
_DAY: Final = ModelTool(name="get_day", description="Returns the day of the week.")
_PASSAGES: Final = ("The first passage.", "The second one.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Trials:
    """`suffix` tells checks apart where there are several; `model` is the provider's own."""

    area: Area
    provider: OpenAiProvider
    model: str
    suffix: str

    async def try_word(self) -> Finding:
        """As people's questions are asked: streamed, with all settings."""
        question = ModelRequest(messages=({"role": "user", "content": "Answer with the single word OK."},))
        answer = await self._ask("one answer", lambda: self.provider.chat(question))
        if isinstance(answer, Finding):
            return answer
        return self._report("one answer", f"{self.model} answered", answer.prompt_tokens + answer.completion_tokens)

    async def try_call(self) -> Finding:
        """The result is sent back with all that the service wants to see again."""
        question = {"role": "user", "content": "Which day of the week is it today? Call the function get_day."}
        first = await self._ask_with_tool("one call of a tool", question)
        if isinstance(first, Finding):
            return first
        if not first.calls:
            says = f"{self.model} answered in words and called no tool."
            return self.area.report_warning(
                self._name("one call of a tool"), says, "Agents of flows and the tool agent need a model that calls tools."
            )
        call = first.calls[0]
        tool_call = {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": dumps(dict(call.arguments))}}
        reply = {"role": "assistant", "content": first.text, "tool_calls": [{**tool_call, **({"state": call.state} if call.state else {})}]}
        result = {"role": "tool", "tool_call_id": call.id, "content": dumps({"day": "Monday"})}
        second = await self._ask_with_tool("one call of a tool", question, reply, result)
        if isinstance(second, Finding):
            return second
        tokens = sum(answer.prompt_tokens + answer.completion_tokens for answer in (first, second))
        return self._report("one call of a tool", f"{self.model} called a tool and took its result", tokens)

    async def try_vectors(self, model: str) -> Finding:
        """Of two passages and a question, which must be comparable."""
        check = "vectors"
        passages = await self._ask(check, lambda: self.provider.embed(EmbedRequest(texts=_PASSAGES)))
        if isinstance(passages, Finding):
            return passages
        request = EmbedRequest(texts=("A question?",), purpose="question")
        question = await self._ask(check, lambda: self.provider.embed(request))
        if isinstance(question, Finding):
            return question
        sizes = len(passages.vectors[0]), len(question.vectors[0])
        if sizes[0] != sizes[1]:
            says = f"{model} makes vectors of {sizes[0]} numbers and {question.model} of {sizes[1]}: they cannot be compared."
            return self.area.report_wrong(self._name(check), says, "Correct embedding_question_model in MODELS_FILE, see docs/models.md.")
        names = model if question.model == model else f"{model} and, for questions, {question.model}"
        return self._report(check, f"{names} made vectors of {sizes[0]} numbers", passages.tokens + question.tokens)

    async def _ask_with_tool(self, check: str, *messages: JsonObject) -> ModelAnswer | Finding:
        request = ModelRequest(messages=messages, role="tool", tools=(_DAY,))
        return await self._ask(check, lambda: self.provider.chat(request))

    async def _ask(self, check: str, ask: Callable[[], Awaitable[T]]) -> T | Finding:
        try:
            async with asyncio.timeout(_ANSWER_WITHIN):
                return await ask()
        except TimeoutError:
            says = f"It did not answer within {_ANSWER_WITHIN:g} seconds."
            return self.area.report_wrong(self._name(check), says, "Try again later, or another model.")
        except ModelClientError as error:
            return self.area.report_wrong(
                self._name(check),
                error.reason,
                "Read what it says: no such model, an option that it does not take (docs/models.md), no money, too many requests.",
            )

    def _report(self, check: str, says: str, tokens: int) -> Finding:
        return self.area.report_ok(self._name(check), says + (f"; it cost {tokens} tokens." if tokens else "."))

    def _name(self, check: str) -> str:
        return check + self.suffix


AREA = Area("model")
_ALIKE: Final = 3


async def check_model(settings: Settings, *, spend: bool, within: float) -> AsyncIterator[Finding]:
    """Seconds for one answer that costs nothing are `within`; `spend` also tries each model."""
    try:
        plan = load_plan(settings)
    except SettingsError as error:
        where = "MODELS_FILE" if settings.models_file is not None else "settings"
        yield AREA.report_wrong(where, f"{error.reason}.", "Correct it, see docs/models.md.")
        return
    for role, says in describe_chains(plan, settings):
        yield AREA.report_ok(role, says)
    for name, doubt in find_doubts(plan, settings):
        yield AREA.report_warning(name, doubt, "Look it up in docs/models.md.")
    probes = [_check_provider(name, spec, settings, spend=spend, within=within) for name, spec in plan.providers.items()]
    for findings in await asyncio.gather(*probes):
        for finding in findings:
            yield finding
    if spend and settings.openai_transcribe_model and OPENAI in plan.providers and settings.models_file is None:
        yield await _try_transcription(build_model_settings(plan.providers[OPENAI], settings), settings.openai_transcribe_model)


async def _check_provider(name: str, spec: ProviderSpec, settings: Settings, *, spend: bool, within: float) -> list[Finding]:
    """`spend` asks for a word, a call of a tool and vectors."""
    try:
        client = build_client(name, spec, settings)
    except SettingsError as error:
        return [AREA.report_wrong(name, f"{error.reason}.", "Correct the setting, see docs/models.md.")]
    try:
        if lacks_key(spec, settings):
            return [AREA.report_warning(name, "It was not asked: it has no key.", f"Set {name_key(spec)} in the environment or in .env.")]
        models = await _list_models(name, spec, client, settings, within)
        if isinstance(models, Finding):
            return [models]
        findings = [_check_model_name(one, models, spend=spend) for one in _list_wanted(name, spec, client, settings)]
        if spend:
            trials = _build_trials(name, spec, client, settings)
            findings.append(await trials.try_word())
            if findings[-1].verdict == "ok":  # otherwise the rest would say the same again
                findings.append(await trials.try_call())
            if embedding := find_model_names(spec, settings)[1]:
                findings.append(await trials.try_vectors(embedding))
        return findings
    finally:
        await client.aclose()


async def _list_models(name: str, spec: ProviderSpec, client: ModelClient, settings: Settings, within: float) -> frozenset[str] | Finding:
    """Empty if it lists none; a Finding if it cannot be used."""
    try:
        async with asyncio.timeout(within):
            return await client.list_models()
    except TimeoutError:
        check, reason = "reachable", "The model service did not answer in time."
    except ModelClientError as error:
        check = "key" if isinstance(error, KeyRefused) else "reachable" if isinstance(error, Unreachable) else "answer"
        reason = error.reason
    key = f", the key in {name_key(spec)}" if name_key(spec) else ""
    authority = " and, for GigaChat, GIGACHAT_CA_FILE" if spec.kind == "gigachat" else ""
    return AREA.report_wrong(
        check if settings.models_file is None and name == OPENAI else name,
        reason,
        f"Check the address in {name_base(spec)}{key}{authority}, and the firewall and proxy of this machine (docs/models.md).",
    )


@dataclass(frozen=True, kw_only=True)
class _Wanted:
    """What a list without it says of the provider."""

    check: str
    model: str
    accepted: str


def _list_wanted(name: str, spec: ProviderSpec, client: ModelClient, settings: Settings) -> Iterator[_Wanted]:
    model, embedding = find_model_names(spec, settings)
    keyless = client.settings.api_key is None
    openly = find_spec_dialect(spec, settings).lists_openly
    accepted = "answers without a key" if keyless else "answers" if openly else "accepts the key"
    in_file = settings.models_file is not None
    own = f"{name}.model" if in_file else "OPENAI_MODEL" if spec.kind == "openai" else "DEFAULT_MODEL"
    yield _Wanted(check=own, model=model, accepted=accepted)
    if embedding:
        own = f"{name}.embedding_model" if in_file else "DEFAULT_EMBEDDING_MODEL"
        yield _Wanted(check=own, model=embedding, accepted=accepted)
    if spec.embedding_question_model:
        yield _Wanted(check=f"{name}.embedding_question_model", model=spec.embedding_question_model, accepted=accepted)
    if spec.kind == "openai" and not in_file and settings.openai_transcribe_model:
        yield _Wanted(check="OPENAI_TRANSCRIBE_MODEL", model=settings.openai_transcribe_model, accepted=accepted)


def _check_model_name(want: _Wanted, models: frozenset[str], *, spend: bool) -> Finding:
    name = want.model
    tried = "it is tried below" if spend else "`sdelka doctor --spend` tries it"
    if not models:
        says = f"The provider lists no models at this address; whether it has {name} is not known: {tried}."
        return AREA.report_warning(want.check, says, "If nothing works, look whether the address needs /v1 at its end (docs/models.md).")
    if name in models or f"{name}:latest" in models:
        return AREA.report_ok(want.check, f"The provider {want.accepted} and has {name}.")
    near = sorted(models, key=lambda known: -len(_find_common_prefix(known, name)))[:_ALIKE]
    says = f"The provider {want.accepted}, and {name} is not among its {len(models)} models: {tried}."
    return AREA.report_warning(want.check, says, f"Set one that it has, for example {', '.join(near)}.")


def _find_common_prefix(first: str, other: str) -> str:
    """ "" if they share none."""
    length = next((at for at, (a, b) in enumerate(zip(first, other, strict=False)) if a != b), min(len(first), len(other)))
    return first[:length]


def _build_trials(name: str, spec: ProviderSpec, client: ModelClient, settings: Settings) -> Trials:
    is_only = settings.models_file is None and name == OPENAI
    provider = build_provider(spec, client, settings)
    return Trials(area=AREA, provider=provider, model=client.settings.default_model, suffix="" if is_only else f" of {name}")


async def _try_transcription(provider: ModelSettings, model: str) -> Finding:
    listener = Transcriber(provider, model)
    try:
        await listener.transcribe(build_silence(), language="ru")
    except ModelClientError as error:
        return AREA.report_wrong(
            "one recording", f"{model}: {error.reason}", "Set an OPENAI_TRANSCRIBE_MODEL that this provider has, or none."
        )
    finally:
        await listener.aclose()
    return AREA.report_ok("one recording", f"{model} took half a second of silence.")


_FRAME: Final = b"\xf8\xff\xfe"
"""20 ms of silence (RFC 6716: CELT, full band, mono, one frame)."""
_FRAMES: Final = 25
_SAMPLES: Final = 960
_SERIAL: Final = 1
_FIRST, _LAST = 2, 4


def build_silence() -> bytes:
    """Half a second as Ogg Opus (RFC 3533, RFC 7845); the same bytes at every call."""
    head = b"OpusHead" + struct.pack("<BBHIhB", 1, 1, 0, 48_000, 0, 0)
    vendor = b"sdelka"
    tags = b"OpusTags" + struct.pack("<I", len(vendor)) + vendor + struct.pack("<I", 0)
    return _build_page([head], 0, _FIRST, 0) + _build_page([tags], 0, 0, 1) + _build_page([_FRAME] * _FRAMES, _FRAMES * _SAMPLES, _LAST, 2)


def _build_page(packets: list[bytes], position: int, kind: int, number: int) -> bytes:
    """Packets are shorter than 255 bytes. `position` counts audio samples to the page's end, `kind` is `_FIRST`, `_LAST` or 0."""
    sizes = bytes(len(packet) for packet in packets)
    head = struct.pack("<4sBBqIII", b"OggS", 0, kind, position, _SERIAL, number, 0) + bytes([len(sizes)]) + sizes
    page = head + b"".join(packets)
    return page[:22] + struct.pack("<I", _compute_checksum(page)) + page[26:]


def _compute_checksum(data: bytes) -> int:
    """CRC-32 with polynomial 04c11db7, not reflected."""
    total = 0
    for byte in data:
        total ^= byte << 24
        for _ in range(8):
            total = ((total << 1) ^ 0x04C11DB7 if total & 0x80000000 else total << 1) & 0xFFFFFFFF
    return total
