"""Checks the language model: whether it can be reached, its key and the names of the models. These checks cost nothing.

With `--spend` it also asks for one answer and one transcription, for which it builds half a second of silence as an Ogg Opus file (RFC
3533, RFC 7845).
"""

import asyncio
import json
import struct
from collections.abc import AsyncIterator, Mapping
from dataclasses import replace
from typing import Final

import httpx

from bot.cli.doctor.findings import Area, Finding
from bot.model_plan import OPENAI, ProviderSpec, load_plan
from bot.model_providers import build_client, build_model_settings
from bot.settings import Settings
from orchestrator.domain.errors import ModelClientError, SettingsError
from orchestrator.model_client.client import MAX_BODY, ModelClient
from orchestrator.model_client.failures import PLAIN, build_wire_failure, check_encoding
from orchestrator.model_client.settings import ModelSettings
from orchestrator.model_client.transcribe import Transcriber

AREA = Area("model")
_KEY_ADVICE: Final = (
    "Make a new key in the account of the provider and set OPENAI_API_KEY; check that OPENAI_API_BASE is the same provider's."
)
_REACH_ADVICE: Final = "Check OPENAI_API_BASE, the name service, the firewall and proxy settings of this machine."
_ALIKE: Final = 3


async def check_model(settings: Settings, *, spend: bool, within: float) -> AsyncIterator[Finding]:
    """Yield findings about the key and the model names; with `spend` also ask for one word and transcribe half a second of silence.

    `within` is how many seconds one answer that costs nothing may take.
    """
    try:
        plan = load_plan(settings)
    except SettingsError as error:
        yield AREA.report_wrong("MODELS_FILE", f"{error.reason}.", "Correct the file, see docs/models.md.")
        return
    for name, spec in plan.providers.items():
        if settings.models_file is not None or spec.kind == "gigachat":
            yield await _probe_provider(name, spec, settings)
    if settings.models_file is None and OPENAI in plan.providers:
        async for finding in _check_openai(settings, spend=spend, within=within):
            yield finding


async def _probe_provider(name: str, spec: ProviderSpec, settings: Settings) -> Finding:
    """Ask a provider for its models, which costs nothing, and report whether it answers and accepts the key."""
    heard: list[Exception | None] = []
    try:
        client = build_client(name, spec, settings, heard=heard.append)
    except SettingsError as error:
        return AREA.report_wrong(name, f"{error.reason}.", "Correct the setting, see docs/models.md.")
    try:
        await client.probe()
    finally:
        await client.aclose()
    failed = heard[-1] if heard else None
    if isinstance(failed, ModelClientError):
        return AREA.report_wrong(name, failed.reason, "Check its address, its key and, for GigaChat, GIGACHAT_CA_FILE (docs/models.md).")
    return AREA.report_ok(name, "The provider answers and accepts the key.")


async def _check_openai(settings: Settings, *, spend: bool, within: float) -> AsyncIterator[Finding]:
    try:
        provider = replace(build_model_settings(ProviderSpec(kind="openai"), settings), max_attempts=1, total_deadline=60.0)
    except SettingsError as error:
        yield AREA.report_wrong("OPENAI_API_BASE", f"{error.reason}.", "Correct the setting, see docs/models.md.")
        return
    if settings.openai_api_key is None and not provider.is_loopback:
        yield AREA.report_warning("key", "It was not asked: there is no OPENAI_API_KEY.", "Set it in the environment or in .env.")
        return
    listed = await _fetch_model_names(provider, within)
    if isinstance(listed, Finding):
        yield listed
        return
    wanted = {"OPENAI_MODEL": settings.openai_model} | (
        {"OPENAI_TRANSCRIBE_MODEL": name} if (name := settings.openai_transcribe_model) else {}
    )
    for setting, name in wanted.items():
        yield _check_model_name(setting, name, listed, spend=spend)
    if spend:
        yield await _try_completion(provider)
        if settings.openai_transcribe_model:
            yield await _try_transcription(provider, settings.openai_transcribe_model)


async def _fetch_model_names(provider: ModelSettings, within: float) -> frozenset[str] | Finding:
    """Return the names of the provider's models, empty if it lists none.

    If the provider cannot be reached or refuses the key, return a Finding that says so.
    """
    key = provider.api_key.get_secret_value().strip() if provider.api_key else ""
    if not (key.isascii() and key.isprintable()) or " " in key:
        return AREA.report_wrong(
            "key", "OPENAI_API_KEY has characters that no key has.", "Copy it again, without blanks and quotation marks."
        )
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    try:
        async with httpx.AsyncClient(timeout=within, trust_env=not provider.is_loopback, headers=headers | PLAIN) as http:
            answer, body = await _read_models(http, f"{provider.base_url.rstrip('/')}/models", within)
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        return AREA.report_wrong("reachable", f"{build_wire_failure(error).reason}", _REACH_ADVICE)
    except TimeoutError:
        return AREA.report_wrong("reachable", "The model service did not answer in time.", _REACH_ADVICE)
    except ModelClientError as error:
        return AREA.report_wrong("answer", error.reason, "Check that OPENAI_API_BASE is the address of a provider.")
    if answer.status_code in {401, 403}:
        return AREA.report_wrong("key", f"The provider does not accept OPENAI_API_KEY (HTTP {answer.status_code}).", _KEY_ADVICE)
    if answer.status_code in {404, 405}:
        return frozenset()
    if answer.status_code != httpx.codes.OK:
        return AREA.report_wrong(
            "answer", f"The provider answers {answer.status_code} when asked for its models.", "Try again later; look at its status page."
        )
    return _parse_model_names(body)


async def _read_models(http: httpx.AsyncClient, url: str, within: float) -> tuple[httpx.Response, bytes]:
    """Return the answer and its body. Raises httpx's errors, ModelClientError for one that is too long, TimeoutError."""
    content = b""
    async with asyncio.timeout(within), http.stream("GET", url) as answer:
        check_encoding(answer)
        async for chunk in answer.aiter_bytes():
            content += chunk
            if len(content) > MAX_BODY:
                raise ModelClientError("The list of models is longer than such a list can be.")
    return answer, content


def _parse_model_names(content: bytes) -> frozenset[str]:
    try:
        body: object = json.loads(content)
    except (ValueError, RecursionError):
        return frozenset()
    rows = body.get("data") if isinstance(body, Mapping) else None
    return frozenset(str(row["id"]) for row in rows if isinstance(row, Mapping) and "id" in row) if isinstance(rows, list) else frozenset()


def _check_model_name(setting: str, name: str, listed: frozenset[str], *, spend: bool) -> Finding:
    tried = "it is tried below" if spend else "`sdelka doctor --spend` tries it with one word"
    if not listed:
        return AREA.report_ok(setting, f"The provider answers, and lists no models; whether it has {name} is not known: {tried}.")
    if name in listed:
        return AREA.report_ok(setting, f"The provider accepts the key and has {name}.")
    near = sorted(listed, key=lambda known: -len(_find_common_prefix(known, name)))[:_ALIKE]
    says = f"The provider accepts the key, and {name} is not among its {len(listed)} models: {tried}."
    return AREA.report_warning(setting, says, f"Set one that it has, for example {', '.join(near)}.")


def _find_common_prefix(one: str, other: str) -> str:
    """Return the longest common prefix of both texts, "" if they share none."""
    length = next((at for at, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))
    return one[:length]


async def _try_completion(provider: ModelSettings) -> Finding:
    client = ModelClient(provider)
    try:
        body = await client.post_chat_completions({"messages": [{"role": "user", "content": "Answer with the single word OK."}]})
    except ModelClientError as error:
        return AREA.report_wrong(
            "one answer", error.reason, "Read what the provider says: no such model, no money on the account, or too many requests."
        )
    finally:
        await client.aclose()
    usage = body.get("usage")
    tokens = usage.get("total_tokens") if isinstance(usage, Mapping) else None
    return AREA.report_ok("one answer", f"{provider.default_model} answered" + (f"; it cost {tokens} tokens." if tokens else "."))


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
"""One silent Opus frame of 20 ms (RFC 6716: CELT, full band, mono, one frame)."""
_FRAMES: Final = 25
_SAMPLES: Final = 960
_SERIAL: Final = 1
_FIRST, _LAST = 2, 4


def build_silence() -> bytes:
    """Return half a second of silence as an Ogg Opus file; the same bytes at every call."""
    head = b"OpusHead" + struct.pack("<BBHIhB", 1, 1, 0, 48_000, 0, 0)
    vendor = b"sdelka"
    tags = b"OpusTags" + struct.pack("<I", len(vendor)) + vendor + struct.pack("<I", 0)
    return _build_page([head], 0, _FIRST, 0) + _build_page([tags], 0, 0, 1) + _build_page([_FRAME] * _FRAMES, _FRAMES * _SAMPLES, _LAST, 2)


def _build_page(packets: list[bytes], position: int, kind: int, number: int) -> bytes:
    """Return an Ogg page: its header with a checksum, then `packets`, each shorter than 255 bytes.

    `position` is the number of audio samples up to the end of the page, `kind` its header flags (`_FIRST` or `_LAST` page, else 0), and
    `number` its place in the file, from 0.
    """
    sizes = bytes(len(packet) for packet in packets)
    head = struct.pack("<4sBBqIII", b"OggS", 0, kind, position, _SERIAL, number, 0) + bytes([len(sizes)]) + sizes
    page = head + b"".join(packets)
    return page[:22] + struct.pack("<I", _compute_checksum(page)) + page[26:]


def _compute_checksum(data: bytes) -> int:
    """Return Ogg's CRC-32: polynomial 04c11db7, not reflected."""
    total = 0
    for byte in data:
        total ^= byte << 24
        for _ in range(8):
            total = ((total << 1) ^ 0x04C11DB7 if total & 0x80000000 else total << 1) & 0xFFFFFFFF
    return total
