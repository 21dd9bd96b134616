// One message as an element: bubble, buttons, reply quote, file, reactions.

import { h, icon } from "./dom.js";
import { renderText } from "./entities.js";
import { bytes, clock } from "./format.js";
import { toast } from "./toasts.js";

// `scene` is the chat around the message: who looks, the other messages, and what may be done.
export function renderMessage(message, scene) {
  const mine = message.from !== "bot" && (scene.chatId > 0 || message.from === scene.speaker);
  const classes = ["message", mine ? "mine" : "theirs"];
  if (message.edit_date) classes.push("edited");
  if (message.draft) classes.push("draft");
  const bubble = h("div", { class: "bubble" },
    !mine && h("div", { class: "who" }, scene.nameOf(message.from)),
    origin(message),
    quote(message, scene),
    picture(message),
    attachment(message),
    (message.text || message.draft) && h("div", { class: "text" }, message.draft ? draftText(message) : renderText(message.text, message.entities, scene.say)),
    message.reactions.length > 0 && h("div", { class: "reactions" }, message.reactions.map((emoji) => h("span", {}, emoji))),
    !message.draft && meta(message, mine),
  );
  const answer = !message.draft && h("button", { class: "icon-button answer-to", type: "button", "aria-label": "Ответить", title: "Ответить", onclick: () => scene.answer(message) }, icon("reply", 17));
  const element = h("li", { class: classes.join(" "), data: { id: message.message_id } }, bubble, keyboard(message, scene), answer);
  bubble.addEventListener("dblclick", () => !message.draft && scene.answer(message));
  return element;
}

function meta(message, mine) {
  const date = new Date(message.date * 1000);
  return h("span", { class: "meta", title: date.toLocaleString("ru-RU") },
    message.edit_date && "изменено",
    h("time", {}, clock(date)),
    mine && h("span", { class: "ticks" }, icon("check", 15), icon("checks", 15)));
}

function draftText(message) {
  if (!message.text) return h("span", { class: "dots", "aria-label": "Думаю" }, h("i"), h("i"), h("i"));
  return [renderText(message.text, message.entities, () => {}), h("span", { class: "caret" })];
}

function origin(message) {
  const given = message.forward_origin;
  const from = given && (given.sender_user?.first_name ?? given.sender_user_name);
  const parts = [from && `Переслано от: ${from}`, message.via_bot && `через @${message.via_bot.username}`].filter(Boolean);
  return parts.length > 0 && h("div", { class: "origin" }, parts.join(" · "));
}

function quote(message, scene) {
  if (!message.reply_to) return null;
  const replied = scene.messages.get(message.reply_to);
  const title = replied ? scene.nameOf(replied.from) : "Сообщение";
  const text = replied ? summary(replied) : "не показано";
  return h("button", { class: "reply", type: "button", onclick: () => scene.jump(message.reply_to) }, h("b", {}, title), h("span", {}, text));
}

export function summary(message) {
  if (message.text) return message.text.replace(/\s+/g, " ").slice(0, 160);
  return message.photo ? "Фотография" : message.document ? message.document.file_name : "Сообщение";
}

function picture(message) {
  if (!message.photo) return null;
  const { file_id: id, width, height } = message.photo.at(-1);
  return h("img", { class: "photo", src: `/sandbox/files/${id}`, width, height, alt: message.text || "Фотография" });
}

function attachment(message) {
  const file = message.document;
  if (!file) return null;
  return h("a", { class: "file", href: `/sandbox/files/${file.file_id}`, download: file.file_name },
    h("i", {}, icon("file", 22)), h("span", {}, h("b", {}, file.file_name), h("small", {}, bytes(file.file_size))));
}

function keyboard(message, scene) {
  const rows = message.buttons.map((row) => h("div", { class: "key-row" }, row.map((button) => key(message, button, scene))));
  if (message.draft?.can_stop) rows.push(h("div", { class: "key-row" }, h("button", { class: "key", type: "button", onclick: scene.stop }, "Остановить")));
  return rows.length > 0 && h("div", { class: "keys" }, rows);
}

function key(message, button, scene) {
  const corner = button.url ? "link" : button.copy_text ? "copy" : null;
  const act = (event) => {
    if (button.data !== null) scene.press(message, button, event.currentTarget);
    else if (button.url) window.open(button.url, "_blank", "noopener");
    else if (button.copy_text) navigator.clipboard?.writeText(button.copy_text).then(() => toast("Скопировано"));
  };
  return h("button", { class: `key ${button.style ?? ""}`, type: "button", disabled: Boolean(button.disabled), onclick: act },
    button.text, corner && h("span", { class: "corner" }, icon(corner, 11)));
}
