"""The wire to the Bot API: aiogram's session, which sends a call as JSON where aiogram would make a form of it.

aiogram walks through each value of a call in Python and encodes the form's fields one by one, in which a Cyrillic letter takes six bytes
instead of two. A call with a file, which JSON cannot carry, is still a form.
"""

from typing import Any

import orjson
from aiogram import Bot
from aiogram.client.default import Default
from aiogram.client.session.aiohttp import AiohttpSession
from aiogram.client.telegram import TelegramAPIServer
from aiogram.methods import TelegramMethod
from aiohttp import FormData
from aiohttp.payload import BytesPayload


class JsonSession(AiohttpSession):
    """Sends the calls of a bot over kept connections; raises aiogram's errors."""

    def __init__(self, api: TelegramAPIServer) -> None:
        """Create the session of one bot, whose Bot API stands at the address `api`."""
        super().__init__(api=api)
        self._settings: dict[str, object] = {}
        """What the bot's settings, which never change, say for a field; as JSON data."""

    def build_form_data(self, bot: Bot, method: TelegramMethod[Any]) -> FormData:
        """Return the body of a call: JSON, or a form if the call has a file or another value that is no JSON."""
        try:
            body = self._encode(bot, method)
        except TypeError:  # see `orjson.dumps`: also for text that is no valid Unicode
            return super().build_form_data(bot, method)
        return BytesPayload(body, content_type="application/json")  # type: ignore[return-value]  # aiohttp takes any payload for a body

    def _encode(self, bot: Bot, method: TelegramMethod[Any]) -> bytes:
        """Return the call as JSON without fields that are not set. Raises TypeError for a value that is no JSON."""

        def resolve(value: object) -> object:
            if isinstance(value, Default) and (found := self._resolve(bot, value)) is not None:
                return found
            raise TypeError

        given = method.model_dump(exclude_none=True, warnings=False)
        values = {name: self._resolve(bot, value) if isinstance(value, Default) else value for name, value in given.items()}
        return orjson.dumps({name: value for name, value in values.items() if value is not None and value != ""}, default=resolve)

    def _resolve(self, bot: Bot, value: Default) -> object:
        """Return what the bot's settings say for a field that the call leaves open; None if they leave it open, too."""
        if value.name not in self._settings:
            self._settings[value.name] = self.prepare_value(bot.default[value.name], bot, {}, _dumps_json=False)
        return self._settings[value.name]
