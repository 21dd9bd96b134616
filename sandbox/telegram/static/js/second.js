// The chat of a second person beside the open one, in a frame of the same page.

import { byId, h } from "./dom.js";
import { language, t } from "./texts.js";

export class Second {
  constructor(chatId) {
    this.chatId = chatId;
    this.pane = byId("pane-second");
  }

  shown() {
    if (this.pane.firstChild) return;
    this.pane.append(h("iframe", { src: `/?solo&lang=${language()}#${this.chatId}`, title: t("page.second_frame") }));
  }
}
