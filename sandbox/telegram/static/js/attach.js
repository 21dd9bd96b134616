// The paper clip and the microphone beside the writing field: files of one's own, voice messages of given words.

import { get } from "./api.js";
import { byId, h, icon } from "./dom.js";
import { examplesOf, language, t } from "./texts.js";
import { complain } from "./toasts.js";

const LARGEST = 25 * 1024 * 1024;
// Samples that suit everybody; the others are replaced by the examples of the person who speaks.
const OF_NO_DEAL = ["remind", "silence"];
const PICTURES = ["image/png", "image/jpeg"];

export class Attach {
  // `post` sends to one of the addresses of the person who writes: (action, body).
  constructor({ post, takeText, speaker }) {
    this.speaker = speaker;
    this.post = post;
    this.takeText = takeText;
    this.file = h("input", { type: "file", hidden: true, onchange: () => this.sendFile().catch(complain) });
    this.panel = byId("voices");
    byId("clip").append(icon("clip"));
    byId("mic").append(icon("mic"));
    byId("clip").after(this.file);
    byId("clip").addEventListener("click", () => this.file.click());
    byId("mic").addEventListener("click", () => this.toggle().catch(complain));
    document.addEventListener("click", (event) => { if (!event.target.closest("#voices, #mic")) this.panel.hidden = true; });
    document.addEventListener("keydown", (event) => { if (event.key === "Escape") this.panel.hidden = true; });
  }

  async toggle() {
    if (!this.panel.hidden) return void (this.panel.hidden = true);
    const typed = this.takeText(false);
    const { samples } = await get(`/sandbox/voice?language=${language()}`);
    const others = samples.filter((sample) => OF_NO_DEAL.includes(sample.name)).map((sample) => sample.words);
    const spoken = [...examplesOf(this.speaker()).filter((words) => !words.startsWith("/")), ...others];
    const rows = spoken.map((words) => this.row(words || t("composer.silence"), { words }));
    const own = typed ? this.row(typed, { words: typed }, true) : h("p", { class: "none" }, t("composer.voice_hint"));
    this.panel.replaceChildren(own, ...rows);
    this.panel.hidden = false;
    return undefined;
  }

  row(words, body, own = false) {
    const send = () => {
      this.panel.hidden = true;
      if (own) this.takeText(true);
      this.post("voice", body).catch(complain);
    };
    return h("button", { class: "command", type: "button", onclick: send }, h("b", {}, icon("mic", 17)), h("span", {}, words));
  }

  async sendFile() {
    const file = this.file.files[0];
    this.file.value = "";
    if (!file) return;
    if (file.size > LARGEST) throw new Error(t("composer.too_large"));
    const base64 = await new Promise((resolve, reject) => {
      const reader = new FileReader();
      reader.onload = () => resolve(reader.result.slice(reader.result.indexOf(",") + 1));
      reader.onerror = () => reject(new Error(t("composer.unreadable", { name: file.name })));
      reader.readAsDataURL(file);
    });
    const body = { file_name: file.name, mime: file.type || "application/octet-stream", base64, caption: this.takeText(true) };
    await this.post(PICTURES.includes(file.type) ? "photo" : "document", body);
  }
}
