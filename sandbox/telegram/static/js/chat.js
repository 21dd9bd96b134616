// The open chat: loads it, keeps it up to date from the stream, scrolls, presses buttons.

import { get, post } from "./api.js";
import { growDraft, renderMessage } from "./bubbles.js";
import { byId, h, icon } from "./dom.js";
import { dayLabel, sameDay } from "./format.js";
import { examplesOf, t } from "./texts.js";
import { alertWith, complain, toast } from "./toasts.js";

const RUN_SECONDS = 300;
const NEAR_END = 140;
const PRESS_SECONDS = 15;
const ACTIONS = { upload_document: "chat.sends_file", upload_photo: "chat.sends_photo" };

export class Chat {
  constructor(hooks) {
    this.hooks = hooks;
    this.list = byId("messages");
    this.scroll = byId("scroll");
    this.messages = new Map();
    this.elements = new Map();
    this.presses = new Map();
    this.early = new Map();
    this.timers = {};
    this.last = null;
    this.tail = null;
    this.chatId = 0;
    this.speaker = 0;
    this.opened = 0;
    byId("to-end").append(icon("down"));
    byId("to-end").addEventListener("click", () => this.toEnd("smooth"));
    this.stuck = true;
    this.scroll.addEventListener("scroll", () => this.scrolled(), { passive: true });
    // A pane that was hidden or resized forgets where it stood; the end stays the end.
    new ResizeObserver(() => { if (this.stuck) this.toEnd("instant"); }).observe(this.scroll);
  }

  // In a forum `thread` is the topic to show, null the messages outside of topics; elsewhere it is undefined.
  async open(chatId, speaker, thread) {
    this.chatId = chatId;
    this.speaker = speaker;
    this.thread = thread;
    const opening = (this.opened += 1);
    const { messages, action } = await get(`/sandbox/chats/${chatId}/messages`);
    if (opening !== this.opened) return;
    this.clear();
    for (const message of messages) this.accept(message, true);
    this.showStatus(action);
    this.showEmpty();
    this.toEnd("instant");
  }

  async catchUp() {
    const opening = this.opened;
    const { messages } = await get(`/sandbox/chats/${this.chatId}/messages`);
    if (opening !== this.opened) return;
    for (const message of messages) if (!this.messages.has(message.message_id)) this.accept(message);
  }

  clear() {
    this.list.replaceChildren();
    for (const store of [this.messages, this.elements, this.presses]) store.clear();
    this.last = this.tail = null;
    Object.values(this.timers).forEach(clearTimeout);
  }

  accept(message, quiet = false) {
    if (message.draft) return this.showTail(message);
    // What is for one person is shown to that person, in place of the message whose button was pressed if the bot wants it so.
    if (this.thread !== undefined && (message.is_topic_message ? message.message_thread_id : null) !== this.thread) return undefined;
    if (message.only_for && message.only_for !== this.speaker) return undefined;
    if (message.replaces) this.elements.get(message.replaces)?.classList.toggle("replaced", !message.deleted);
    if (message.from === "bot" && !quiet && !message.only_for && !this.messages.has(message.message_id)) this.dropTail();
    this.messages.set(message.message_id, message);
    if (message.deleted) return this.remove(message.message_id);
    const old = this.elements.get(message.message_id);
    return old ? this.replace(old, message) : this.append(message, quiet);
  }

  append(message, quiet) {
    const stays = quiet || this.nearEnd() || message.from === this.speaker;
    this.list.querySelector(".empty-chat")?.remove();
    const date = new Date(message.date * 1000);
    if (!this.last || !sameDay(new Date(this.last.date * 1000), date)) {
      this.list.insertBefore(h("li", { class: "day" }, dayLabel(date)), this.tail);
    }
    const element = renderMessage(message, this);
    element.classList.toggle("follows", this.follows(message));
    element.classList.toggle("fresh", !quiet);
    this.list.insertBefore(element, this.tail);
    this.elements.set(message.message_id, element);
    this.last = message;
    if (message.from === "bot") this.markSeen();
    if (message.force_reply) this.hooks.forceReply(message, message.force_reply.placeholder);
    if (stays && !quiet) this.toEnd("smooth");
  }

  replace(old, message) {
    const near = this.nearEnd();
    const element = renderMessage(message, this);
    for (const name of ["follows", "seen"]) element.classList.toggle(name, old.classList.contains(name));
    old.replaceWith(element);
    this.elements.set(message.message_id, element);
    if (near) this.toEnd("smooth");
  }

  remove(id) {
    const element = this.elements.get(id);
    this.elements.delete(id);
    if (!element) return;
    element.classList.add("leaving");
    setTimeout(() => element.remove(), 240);
  }

  follows(message) {
    const last = this.last;
    if (!last || last.service || message.service || last.from !== message.from || last.sender_chat?.id !== message.sender_chat?.id || message.date - last.date > RUN_SECONDS) return false;
    return sameDay(new Date(last.date * 1000), new Date(message.date * 1000)) && (message.from !== "bot" || last.buttons.length === 0);
  }

  showTail(message, seconds = 30) {
    const near = this.nearEnd();
    const shape = message.draft ? `${message.draft.draft_id} ${message.draft.can_stop} ${Boolean(message.text)}` : "";
    if (shape && this.tail?.dataset.shape === shape) {
      growDraft(this.tail, message);
    } else {
      const element = message.draft ? renderMessage(message, this) : typing();
      element.dataset.shape = shape;
      this.tail?.remove();
      this.tail = element;
      this.list.append(element);
    }
    this.markSeen();
    clearTimeout(this.timers.tail);
    this.timers.tail = setTimeout(() => this.dropTail(), seconds * 1000);
    if (near) this.toEnd("instant");
  }

  dropTail() {
    this.tail?.remove();
    this.tail = null;
    this.showStatus(null);
  }

  markSeen() {
    for (const mine of this.list.querySelectorAll(".mine:not(.seen)")) mine.classList.add("seen");
  }

  showStatus(action, seconds = 5) {
    clearTimeout(this.timers.status);
    const busy = Boolean(action);
    byId("chat-status").textContent = busy ? t(ACTIONS[action] ?? "chat.typing") : this.hooks.idleStatus();
    byId("chat-status").classList.toggle("busy", busy);
    if (busy) this.timers.status = setTimeout(() => this.showStatus(null), seconds * 1000);
  }

  showEmpty() {
    if (this.elements.size > 0 || this.tail || this.chatId < 0) return;
    const chips = examplesOf(this.speaker).map((text) => h("button", { class: "chip", type: "button", onclick: () => this.say(text) }, text));
    this.list.append(h("li", { class: "empty-chat" }, h("div", { class: "avatar bot" }), h("h2", {}, t("chat.empty_title")),
      h("p", {}, t("chat.empty_text")),
      h("div", { class: "chips" }, chips)));
  }

  handle(event) {
    if (event.chat_id !== this.chatId) return;
    if (event.kind === "message") this.accept(event.message);
    if (event.kind === "draft") this.showTail(event.draft, event.seconds), this.showStatus("typing", event.seconds);
    if (event.kind === "draft_stopped") {
      if (event.kept) this.tail?.querySelector(".keys")?.remove();
      else this.dropTail();
    }
    if (event.kind === "action") {
      this.showStatus(event.action, event.seconds);
      if (!this.tail?.dataset.shape) this.showTail({}, event.seconds);
    }
    if (event.kind === "callback") this.answered(event);
  }

  async press(message, button, element) {
    element.classList.add("waiting");
    try {
      const body = { message_id: message.message_id, data: button.data, chat_id: this.chatId };
      const { callback_id: id } = await post(`/sandbox/users/${this.speaker}/press`, body);
      const stop = () => element.classList.remove("waiting");
      if (this.early.delete(id)) return stop();
      this.presses.set(id, stop);
      setTimeout(stop, PRESS_SECONDS * 1000);
    } catch (error) {
      element.classList.remove("waiting");
      complain(error);
    }
  }

  answered(event) {
    const stop = this.presses.get(event.callback_id);
    if (stop) stop();
    else this.early.set(event.callback_id, true);
    if (event.user_id !== this.speaker || !event.text) return;
    if (event.show_alert) alertWith(event.text);
    else toast(event.text);
  }

  // What a message may ask of its chat.
  say = (text) => this.hooks.send(text);
  answer = (message) => this.hooks.answer(message);
  nameOf = (from) => this.hooks.nameOf(from);
  stop = () => post(`/sandbox/users/${this.speaker}/stop`).catch(complain);

  jump(id) {
    const element = this.elements.get(id);
    element?.scrollIntoView({ block: "center", behavior: "smooth" });
    element?.classList.remove("flash");
    requestAnimationFrame(() => element?.classList.add("flash"));
  }

  scrolled() {
    if (!this.scroll.clientHeight) return;
    this.stuck = this.nearEnd();
    byId("to-end").hidden = this.nearEnd(400);
  }

  nearEnd(distance = NEAR_END) {
    return this.scroll.scrollHeight - this.scroll.scrollTop - this.scroll.clientHeight < distance;
  }

  toEnd(behavior) {
    this.scroll.scrollTo({ top: this.scroll.scrollHeight, behavior });
  }
}

function typing() {
  return h("li", { class: "message theirs draft" }, h("div", { class: "bubble" }, h("span", { class: "dots", "aria-label": t("message.types") }, h("i"), h("i"), h("i"))));
}
