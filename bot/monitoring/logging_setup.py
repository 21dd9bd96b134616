"""The program's own log: one line per event, secrets masked, no personal data, not even in pydantic's errors.

It works before `bot.composition.process` is imported, which takes seconds.
"""

import logging
import sys
import threading
import traceback
from datetime import UTC, datetime
from types import TracebackType
from typing import Final, Literal

import orjson

from bitrix.masking import install_log_filter, mask, mask_value
from state.trace import get_trace_id

LogFormat = Literal["text", "json"]

_STANDARD_FIELDS: Final = frozenset(logging.makeLogRecord({}).__dict__) | {
    "message",
    "asctime",
    "trace_id",
    "told",
    "taskName",
    "color_message",
}
_LONGEST: Final = 2000
"""Characters of one message; an error of a server may quote a whole page."""


def configure_logging(level: str, form: LogFormat = "text") -> None:
    """Text lines on stderr, or JSON lines on stdout, where log collectors of containers read them."""
    handler = logging.StreamHandler(sys.stdout if form == "json" else sys.stderr)
    handler.setFormatter(JsonLines() if form == "json" else TextLines())
    handler.addFilter(prepare_record)
    root = logging.getLogger()
    for before in [one for one in root.handlers if isinstance(one.formatter, JsonLines | TextLines)]:
        root.removeHandler(before)
    root.addHandler(handler)
    root.setLevel(level)
    # `state.sql.schema` reports schema changes in one line of its own
    logging.getLogger("alembic").setLevel(max(logging.WARNING, root.level))
    logging.captureWarnings(capture=True)
    install_log_filter()
    sys.excepthook = _log_crash
    threading.excepthook = _log_thread_crash


def prepare_record(record: logging.LogRecord) -> bool:
    """Always True: logging drops no record."""
    if not hasattr(record, "trace_id"):
        record.trace_id = get_trace_id()
    record.told = describe_error(record.exc_info[1]) if record.exc_info and record.exc_info[1] is not None else ""
    return True


def describe_error(error: BaseException) -> str:
    """A traceback without secrets; of pydantic's errors location and type, never the input."""
    traceback_exception = traceback.TracebackException.from_exception(error)
    _trim_messages(traceback_exception, error)
    return mask("".join(traceback_exception.format()).rstrip())


def _trim_messages(traceback_exception: traceback.TracebackException, error: BaseException) -> None:
    seen: set[int] = set()
    pairs: list[tuple[traceback.TracebackException | None, BaseException | None]] = [(traceback_exception, error)]
    while pairs:
        trace, what = pairs.pop()
        if trace is None or what is None or id(what) in seen:
            continue
        seen.add(id(what))
        trace._str = _describe_message(what)  # type: ignore[attr-defined]  # noqa: SLF001 - the one place that holds the message; `format` has no other way
        pairs += [(trace.__cause__, what.__cause__), (trace.__context__, what.__context__)]
        if isinstance(what, BaseExceptionGroup):
            pairs += zip(trace.exceptions or (), what.exceptions, strict=False)


def _describe_message(error: BaseException) -> str:
    faults = getattr(error, "errors", None)
    if callable(faults) and hasattr(error, "error_count"):  # a pydantic error, whose text quotes its input
        return "; ".join(f"{'.'.join(map(str, fault['loc']))}: {fault['type']}" for fault in faults()[:10])
    text = str(error)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"


class JsonLines(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        line = {
            "time": _find_moment(record).isoformat(timespec="milliseconds").replace("+00:00", "Z"),
            "level": record.levelname,
            "logger": record.name,
            "action": _find_action(record),
            "message": _format_message(record),
            **_find_trace(record, "trace_id"),
            **_mask_fields(record),
            **({"exception": trace} if (trace := str(getattr(record, "told", ""))) else {}),
        }
        return orjson.dumps(line, default=str, option=orjson.OPT_NON_STR_KEYS).decode()


class TextLines(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        moment = _find_moment(record).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        ids = {**_find_trace(record, "trace"), **_mask_fields(record)}
        told = " ".join(f"{name}={value}" for name, value in ids.items())
        line = f"{moment} {record.levelname} {record.name} [{_find_action(record)}] {_format_message(record)}"
        line = f"{line} {told}".rstrip()
        if not line.isprintable():  # asked of the whole line first, which is fifty times as fast
            line = "".join(char if char.isprintable() else f"\\x{ord(char):02x}" for char in line)
        told = str(getattr(record, "told", ""))
        return f"{line}\n{told}" if told else line


def _find_moment(record: logging.LogRecord) -> datetime:
    return datetime.fromtimestamp(record.created, UTC)


def _find_action(record: logging.LogRecord) -> str:
    """For a record of a library, which has none, the library's name."""
    return str(getattr(record, "action", "") or record.name.partition(".")[0])


def _find_trace(record: logging.LogRecord, name: str) -> dict[str, str]:
    trace_id = str(getattr(record, "trace_id", ""))
    return {name: trace_id} if trace_id else {}


def _format_message(record: logging.LogRecord) -> str:
    try:
        text = record.getMessage()
    except Exception:  # noqa: BLE001 - a badly written log call must not break the work it reports
        text = str(record.msg)
    text = mask(text)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"


def _mask_fields(record: logging.LogRecord) -> dict[str, object]:
    fields = {name: value for name, value in vars(record).items() if name not in _STANDARD_FIELDS and name != "action"}
    if not fields:
        return {}
    masked: dict[str, object] = mask_value(fields)
    return {name: value if isinstance(value, int | float | bool | None) else mask(str(value))[:_LONGEST] for name, value in masked.items()}


def _log_crash(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    if issubclass(kind, KeyboardInterrupt):
        sys.__excepthook__(kind, error, trace)
    else:
        logging.getLogger("sdelka").critical("the program ends", exc_info=(kind, error, trace), extra={"action": "fallen"})


def _log_thread_crash(args: threading.ExceptHookArgs) -> None:
    if args.exc_value is not None and not issubclass(args.exc_type, SystemExit):
        error = (args.exc_type, args.exc_value, args.exc_traceback)
        logging.getLogger("sdelka").critical("a thread ends", exc_info=error, extra={"action": "fallen"})
