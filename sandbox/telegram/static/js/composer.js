// The writing field: Enter sends, "/" opens the bot's menu, a reply hangs above.

import { get } from "./api.js";
import { summary } from "./bubbles.js";
import { byId, h, icon } from "./dom.js";
import { t } from "./texts.js";

const TALLEST = 168;

export class Composer {
  constructor({ send, nameOf }) {
    this.deliver = send;
    this.nameOf = nameOf;
    this.input = byId("input");
    this.menu = byId("commands");
    this.commands = [];
    this.shown = [];
    this.chosen = 0;
    this.replyTo = null;
    byId("menu").append(icon("menu"));
    byId("send").append(icon("send"));
    byId("menu").addEventListener("click", () => this.toggleMenu());
    byId("composer").addEventListener("submit", (event) => { event.preventDefault(); this.submit(); });
    this.input.addEventListener("input", () => this.changed());
    this.input.addEventListener("keydown", (event) => this.key(event));
    document.addEventListener("click", (event) => { if (!event.target.closest("#composer")) this.hideMenu(); });
  }

  async loadCommands(chatId) {
    this.chatId = chatId;
    this.commands = (await get(`/sandbox/chats/${chatId}/commands`)).commands;
    if (this.input.value.startsWith("/")) this.changed(); // typed before the bot said what it can do
  }

  reset() {
    this.setReply(null);
    this.input.value = "";
    this.changed();
  }

  setReply(message, placeholder = "") {
    this.replyTo = message;
    this.input.placeholder = placeholder || t("composer.message");
    const bar = byId("reply-bar");
    bar.hidden = !message;
    if (!message) return;
    const cancel = h("button", { class: "icon-button", type: "button", "aria-label": t("message.no_answer"), onclick: () => this.setReply(null) }, icon("close", 18));
    bar.replaceChildren(icon("reply"), h("div", { class: "reply" }, h("b", {}, this.nameOf(message.from)), h("span", {}, summary(message))), cancel);
    this.input.focus();
  }

  changed() {
    byId("send").disabled = !this.input.value.trim();
    this.input.style.height = "auto";
    this.input.style.height = `${Math.min(this.input.scrollHeight, TALLEST)}px`;
    const typed = /^\/(\w*)$/.exec(this.input.value);
    if (typed) this.showMenu(typed[1]);
    else this.hideMenu();
  }

  key(event) {
    if (!this.menu.hidden && this.menuKey(event)) return event.preventDefault();
    if (event.key === "Escape") this.setReply(null);
    if (event.key !== "Enter" || event.shiftKey || event.isComposing) return undefined;
    event.preventDefault();
    return this.submit();
  }

  menuKey(event) {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step && this.shown.length) {
      this.chosen = (this.chosen + step + this.shown.length) % this.shown.length;
      this.markChosen();
      return true;
    }
    if (event.key === "Escape") return this.hideMenu(), true;
    const complete = event.key === "Tab" || (event.key === "Enter" && this.input.value !== `/${this.shown[this.chosen]?.command}`);
    if (!complete || !this.shown.length) return false;
    this.input.value = `/${this.shown[this.chosen].command}`;
    return this.changed(), true;
  }

  toggleMenu() {
    if (this.menu.hidden) this.showMenu("");
    else this.hideMenu();
    this.input.focus();
  }

  showMenu(prefix) {
    this.shown = this.commands.filter((item) => item.command.startsWith(prefix));
    this.chosen = 0;
    if (prefix && !this.shown.length) return this.hideMenu();
    const rows = this.shown.map((item) => h("button", { class: "command", type: "button", role: "option", onclick: () => this.run(item) }, h("b", {}, `/${item.command}`), h("span", {}, item.description)));
    this.menu.replaceChildren(...(rows.length ? rows : [h("div", { class: "none" }, t("composer.no_commands"))]));
    this.menu.hidden = false;
    return this.markChosen();
  }

  markChosen() {
    [...this.menu.querySelectorAll(".command")].forEach((row, index) => {
      row.setAttribute("aria-selected", String(index === this.chosen));
      if (index === this.chosen) row.scrollIntoView({ block: "nearest" });
    });
  }

  hideMenu() {
    this.menu.hidden = true;
  }

  run(item) {
    this.hideMenu();
    this.deliver(`/${item.command}`);
  }

  // The words in the field, for a voice message or as the caption of a file; taken out of it when they go.
  takeText(away) {
    const text = this.input.value.trim();
    if (away) this.reset();
    return text;
  }

  submit() {
    const text = this.input.value.trim();
    if (!text) return;
    const reply = this.replyTo?.message_id;
    this.reset();
    this.hideMenu();
    this.deliver(text, reply);
  }
}
