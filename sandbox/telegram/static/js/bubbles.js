// One message as an element: bubble, buttons, reply quote, reactions, notes of what happened in a group.

import { attachment, contact, picture, voice } from "./attachments.js";
import { h, icon } from "./dom.js";
import { renderText } from "./entities.js";
import { clock, fullName } from "./format.js";
import { deepLink } from "./links.js";
import { locale, t } from "./texts.js";
import { toast } from "./toasts.js";

// `scene` is the chat around the message: who looks, the other messages, and what may be done.
export function renderMessage(message, scene) {
  if (message.service) return serviceNote(message, scene);
  const mine = isMine(message, scene);
  const classes = ["message", mine ? "mine" : "theirs"];
  if (message.edit_date) classes.push("edited");
  if (message.draft) classes.push("draft");
  if (message.only_for) classes.push("private-note");
  if (!message.draft && !message.text) classes.push("textless");
  const bubble = h("div", { class: "bubble" },
    message.only_for && h("div", { class: "only-for" }, icon("eye", 14), t("message.only_for", { name: scene.nameOf(message.only_for) })),
    !mine && h("div", { class: "who" }, sender(message, scene)),
    origin(message),
    quote(message, scene),
    picture(message),
    attachment(message),
    contact(message),
    voice(message),
    (message.text || message.draft) && h("div", { class: "text" }, message.draft ? draftText(message) : renderText(message.text, message.entities, scene.say)),
    message.reactions.length > 0 && h("div", { class: "reactions" }, message.reactions.map((emoji) => h("span", { title: t("message.reaction") }, emoji))),
    !message.draft && meta(message, mine),
  );
  const answer = !message.draft && !message.only_for && h("button", { class: "icon-button answer-to", type: "button", "aria-label": t("message.answer"), title: t("message.answer"), onclick: () => scene.answer(message) }, icon("reply", 17));
  const element = h("li", { class: classes.join(" "), data: { id: message.message_id } }, bubble, keyboard(message, scene), answer);
  bubble.addEventListener("dblclick", () => !message.draft && scene.answer(message));
  return element;
}

// A further text of the draft that is on the screen: only the words change, so nothing jumps.
export function growDraft(element, message) {
  element.querySelector(".text").replaceChildren(...[draftText(message)].flat(Infinity));
}

function isMine(message, scene) {
  return message.from !== "bot" && !message.sender_chat && (scene.chatId > 0 || message.from === scene.speaker);
}

export function sender(message, scene) {
  const chat = message.sender_chat;
  if (!chat) return scene.nameOf(message.from);
  return t(chat.type === "channel" ? "message.channel" : "message.anonymous", { title: chat.title });
}

function serviceNote(message, scene) {
  return h("li", { class: "service", data: { id: message.message_id } }, serviceText(message, scene.nameOf));
}

export function serviceText(message, nameOf) {
  const [kind, value] = Object.entries(message.service)[0];
  const who = nameOf(message.from);
  switch (kind) {
    case "migrate_to_chat_id": return t("message.became_supergroup");
    case "migrate_from_chat_id": return t("message.from_group");
    case "new_chat_members": return t("message.joined", { who, names: value.map((user) => user.first_name).join(", ") });
    case "left_chat_member": return t("message.left", { name: value.first_name });
    default: return t("message.new_topic", { who, name: value.name });
  }
}

function meta(message, mine) {
  const date = new Date(message.date * 1000);
  return h("span", { class: "meta", title: date.toLocaleString(locale()) },
    message.edit_date && t("message.edited"),
    h("time", {}, clock(date)),
    mine && h("span", { class: "ticks" }, icon("check", 15), icon("checks", 15)));
}

function draftText(message) {
  if (!message.text) return h("span", { class: "dots", "aria-label": t("message.thinking") }, h("i"), h("i"), h("i"));
  return [renderText(message.text, message.entities, () => {}), h("span", { class: "caret" })];
}

function origin(message) {
  const given = message.forward_origin;
  const from = given && (given.sender_user?.first_name ?? given.sender_user_name ?? given.chat?.title ?? given.sender_chat?.title ?? t("message.unknown_source"));
  const forwarded = from && [icon("forward", 14), h("span", {}, `${t("message.forwarded")} `, h("b", {}, from), given.chat && ` ${t("message.in_channel")}`)];
  const via = message.via_bot && h("span", {}, t("message.via", { name: message.via_bot.username }));
  return (forwarded || via) && h("div", { class: "origin" }, forwarded, via);
}

function quote(message, scene) {
  if (!message.reply_to) return null;
  const replied = scene.messages.get(message.reply_to);
  const title = replied ? sender(replied, scene) : t("message.some");
  const text = message.quote ? `«${message.quote.text}»` : replied ? summary(replied) : t("message.not_shown");
  return h("button", { class: "reply", type: "button", onclick: () => scene.jump(message.reply_to) }, h("b", {}, title), h("span", {}, text));
}

export function summary(message) {
  if (message.service) return serviceText(message, String);
  if (message.text) return message.text.replace(/\s+/g, " ").slice(0, 160);
  if (message.voice) return t("message.voice");
  if (message.contact) return t("message.contact", { name: fullName(message.contact) });
  return message.photo ? t("message.photo") : message.document ? message.document.file_name : t("message.some");
}

function keyboard(message, scene) {
  const rows = message.buttons.map((row) => h("div", { class: "key-row" }, row.map((button) => key(message, button, scene))));
  if (message.draft?.can_stop) rows.push(h("div", { class: "key-row" }, h("button", { class: "key halt", type: "button", onclick: scene.stop }, icon("stop", 17), t("message.stop"))));
  return rows.length > 0 && h("div", { class: "keys" }, rows);
}

function key(message, button, scene) {
  const corner = button.url ? "link" : button.copy_text ? "copy" : null;
  const act = (event) => {
    if (button.data !== null) scene.press(message, button, event.currentTarget);
    else if (deepLink(button.url)) scene.say(deepLink(button.url));
    else if (button.url) window.open(button.url, "_blank", "noopener");
    else if (button.copy_text) navigator.clipboard?.writeText(button.copy_text).then(() => toast(t("chat.copied")));
  };
  return h("button", { class: `key ${button.style ?? ""}`, type: "button", disabled: Boolean(button.disabled), onclick: act },
    button.text, corner && h("span", { class: "corner" }, icon(corner, 11)));
}
