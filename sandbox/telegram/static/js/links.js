// Links that open this bot: following one says "/start …", as Telegram's applications do.

let bot = "";

export function setBot(username) {
  bot = username.toLowerCase();
}

export function deepLink(address) {
  const found = /^(?:https?:\/\/)?t\.me\/(\w+)(?:\?start=([\w-]{0,64}))?$/i.exec(address ?? "");
  if (!found || found[1].toLowerCase() !== bot) return null;
  return `/start ${found[2] ?? ""}`.trim();
}
