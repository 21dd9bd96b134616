"""aiogram imported without its validators works as aiogram does, and costs what it should."""

import subprocess
import sys

import pytest

_LEAN = """
import sys
from bot.telegram.lazy_aiogram import import_aiogram
import_aiogram()
import_aiogram()
from aiogram.methods import EditMessageText, Response, SendMessage
from aiogram.types import InlineKeyboardButton, InlineKeyboardMarkup, Message, Update
from pydantic import BaseModel
assert not Message.__pydantic_complete__
chat = {"id": 7, "type": "private"}
said = {"message_id": 1, "date": 1, "chat": chat, "text": "да", "from": {"id": 7, "is_bot": False, "first_name": "Борис"}}
update = Update.model_validate({"update_id": 1, "message": said | {"reply_to_message": said}})
assert update.message.reply_to_message.from_user.first_name == "Борис"
pressed = {"id": "1", "from": said["from"], "chat_instance": "1", "data": "x", "message": said}
assert isinstance(Update.model_validate({"update_id": 2, "callback_query": pressed}).callback_query.message, Message)
markup = InlineKeyboardMarkup(inline_keyboard=[[InlineKeyboardButton(text="Да", callback_data="y")]])
assert SendMessage(chat_id=7, text="x", reply_markup=markup).model_dump(exclude_none=True)["reply_markup"]["inline_keyboard"]
assert isinstance(Response[Message | bool].model_validate({"ok": True, "result": said}).result, Message)
try:
    Update.model_validate({"update_id": "none"})
except ValueError:
    pass
else:
    raise AssertionError("anything goes")
class Plain(BaseModel):
    number: int
assert Plain.model_rebuild(force=True) and Plain(number=1).number == 1
"""


@pytest.mark.long
@pytest.mark.req("S004-A1")
def test_types_are_built_when_they_are_used() -> None:
    """Updates, answers and calls are read and written as ever, a faulty one is refused, and other models are none of its business."""
    ended = subprocess.run([sys.executable, "-c", _LEAN], capture_output=True, text=True, timeout=60, check=False)
    assert ended.returncode == 0, ended.stderr[-2000:]


_WHOLE = """
from bot.telegram.lazy_aiogram import import_aiogram
import_aiogram()
import aiogram.methods as methods
from aiogram.methods.base import Response, TelegramMethod
answers = [one.__returning__ for one in vars(methods).values() if isinstance(one, type) and issubclass(one, TelegramMethod) and one is not TelegramMethod]
assert len(answers) > 100
for answer in answers:
    for read in (Response[answer].model_validate_json, Response[answer].model_validate):
        assert read({"ok": False, "description": "x"} if read.__name__ == "model_validate" else '{"ok": false}').ok is False
"""


@pytest.mark.long
def test_the_answer_of_every_method_can_be_read() -> None:
    """One that could not would be taken for a lost answer, and what was posted would be posted again."""
    ended = subprocess.run([sys.executable, "-c", _WHOLE], capture_output=True, text=True, timeout=100, check=False)
    assert ended.returncode == 0, ended.stderr[-2000:]


@pytest.mark.long
@pytest.mark.req("S004-67")
def test_a_bot_without_telegram_imports_none_of_it() -> None:
    """Who serves HTTP alone does not pay for aiogram."""
    code = "import sys, bot.composition.process; sys.exit('aiogram' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], timeout=60, check=False).returncode == 0
