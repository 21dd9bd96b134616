// The left column: people and groups, what was said last, what is unread.

import { get } from "./api.js";
import { summary } from "./bubbles.js";
import { byId, h } from "./dom.js";
import { hue, initials, shortMoment } from "./format.js";
import { t } from "./texts.js";

export const roleName = (role) => t(`people.roles.${role}`);

export function avatar(name, size = "") {
  return h("div", { class: `avatar ${hue(name)} ${size}`, "aria-hidden": "true" }, initials(name));
}

export class People {
  constructor(onOpen) {
    this.onOpen = onOpen;
    this.people = new Map();
    this.chats = [];
    this.unread = new Map();
    this.busy = new Map();
    this.current = 0;
  }

  async load() {
    const [{ users }, { chats }] = await Promise.all([get("/sandbox/users"), get("/sandbox/chats")]);
    this.people = new Map(users.map((person) => [person.telegram_id, person]));
    this.chats = chats;
    this.draw();
  }

  select(chatId) {
    this.current = chatId;
    this.unread.delete(chatId);
    this.draw();
  }

  note(event) {
    const chat = this.chats.find((row) => row.chat_id === event.chat_id);
    if (!chat) return;
    if (event.kind === "action" || event.kind === "draft") {
      this.busy.set(chat.chat_id, Date.now() + event.seconds * 1000);
      setTimeout(() => this.draw(), event.seconds * 1000 + 50);
    }
    if (event.kind === "draft_stopped" && !event.kept) this.busy.delete(chat.chat_id);
    if (event.kind === "message" && !event.message.deleted && !event.message.only_for) this.noteMessage(chat, event.message);
    this.draw();
  }

  noteMessage(chat, message) {
    const fresh = !chat.last || message.message_id > chat.last.message_id;
    if (fresh || message.message_id === chat.last.message_id) chat.last = message;
    if (message.from !== "bot" || !fresh) return;
    this.busy.delete(chat.chat_id);
    if (chat.chat_id !== this.current) this.unread.set(chat.chat_id, (this.unread.get(chat.chat_id) ?? 0) + 1);
  }

  draw() {
    byId("people").replaceChildren(...this.chats.map((chat) => h("li", {}, this.row(chat))));
  }

  row(chat) {
    const person = this.people.get(chat.chat_id);
    const typing = (this.busy.get(chat.chat_id) ?? 0) > Date.now();
    const count = this.unread.get(chat.chat_id);
    const role = chat.state ? t(`people.states.${chat.state}`) : person ? roleName(person.role) : t(`people.kinds.${chat.kind}`);
    return h("button", { class: "person", type: "button", title: `${chat.title} — ${role}`, "aria-current": String(chat.chat_id === this.current), onclick: () => this.onOpen(chat.chat_id) },
      avatar(chat.title),
      h("span", { class: "person-name" }, chat.title, h("span", { class: "person-role" }, role)),
      h("time", { class: "person-time" }, chat.last ? shortMoment(new Date(chat.last.date * 1000)) : ""),
      typing ? h("span", { class: "person-last typing" }, t("people.typing")) : h("span", { class: "person-last" }, lastLine(chat.last, person ? chat.title : this.people.get(chat.last?.from)?.name ?? t("people.somebody"))),
      count ? h("span", { class: "badge", "aria-label": t("people.unread", { count }) }, String(count)) : h("span"));
  }
}

function lastLine(message, title) {
  if (!message) return t("people.no_messages");
  if (message.from === "bot" || message.service) return summary(message);
  return [h("b", {}, `${title}: `), summary(message)];
}
