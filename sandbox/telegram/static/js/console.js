// The way into the bot's console: asks the bot for a link as the chosen person does, and opens it in a tab of the browser.

import { get, post } from "./api.js";
import { byId, h } from "./dom.js";
import { t } from "./texts.js";
import { complain } from "./toasts.js";

const LINK = /https?:\/\/\S+\/login\?link=[\w-]+/;
const LOOKS = 60;
const sleep = (milliseconds) => new Promise((done) => setTimeout(done, milliseconds));

export class Console {
  constructor(person, nameOf) {
    this.person = person;
    this.nameOf = nameOf;
    this.pane = byId("pane-console");
  }

  shown() {
    const open = h("button", { class: "chip", type: "button", onclick: () => this.enter(open).catch(complain) }, t("console.open", { name: this.nameOf(this.person()) }));
    this.pane.replaceChildren(h("div", { class: "empty" }, h("b", {}, t("console.title")), h("p", {}, t("console.text")), open));
  }

  async enter(button) {
    // Opened before anything is awaited: later a browser would take it for a pop-up.
    const tab = window.open("about:blank");
    button.disabled = true;
    try {
      tab.location = await this.link();
    } catch (error) {
      tab?.close();
      throw error;
    } finally {
      button.disabled = false;
    }
  }

  async link() {
    const person = this.person();
    const { message_id: sent } = await post(`/sandbox/users/${person}/send`, { chat_id: person, text: "/console" });
    for (let look = 0; look < LOOKS; look += 1) {
      const { messages } = await get(`/sandbox/chats/${person}/messages`);
      const found = messages.filter((one) => one.from === "bot" && one.message_id > sent).map((one) => LINK.exec(one.text ?? "")).find(Boolean);
      if (found) return found[0];
      await sleep(250);
    }
    throw new Error(t("console.silent"));
  }
}
