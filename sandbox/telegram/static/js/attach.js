// The paper clip and the microphone beside the writing field: photos, files and contacts, voice messages of given words.

import { get } from "./api.js";
import { byId, h, icon } from "./dom.js";
import { fullName, phone } from "./format.js";
import { examplesOf, language, t } from "./texts.js";
import { complain } from "./toasts.js";

const LARGEST = 25 * 1024 * 1024;
// Samples that suit everybody; the others are replaced by the examples of the person who speaks.
const OF_NO_DEAL = ["remind", "silence"];
const PICTURES = "image/png,image/jpeg";

export class Attach {
  // `post` sends to one of the addresses of the person who writes: (action, body).
  constructor({ post, takeText, speaker }) {
    this.speaker = speaker;
    this.post = post;
    this.takeText = takeText;
    this.file = h("input", { type: "file", hidden: true, onchange: () => this.sendFile().catch(complain) });
    this.panel = byId("voices");
    this.choice = byId("attachments");
    byId("clip").append(icon("clip"));
    byId("mic").append(icon("mic"));
    byId("clip").after(this.file);
    byId("clip").addEventListener("click", () => this.offer().catch(complain));
    byId("mic").addEventListener("click", () => this.toggle().catch(complain));
    document.addEventListener("click", (event) => {
      if (!event.target.closest("#voices, #mic")) this.panel.hidden = true;
      if (!event.target.closest("#attachments, #clip")) this.choice.hidden = true;
    });
    document.addEventListener("keydown", (event) => { if (event.key === "Escape") this.panel.hidden = this.choice.hidden = true; });
  }

  // What can be attached: a photo, any file, the own contact, or one of the address book.
  async offer() {
    if (!this.choice.hidden) return void (this.choice.hidden = true);
    const { own, others } = await get(`/sandbox/users/${this.speaker()}/contacts?language=${language()}`);
    const pick = (kind, accept) => () => { this.kind = kind; this.file.accept = accept; this.file.click(); };
    const contact = (given, title, body) => this.option("contact", title, phone(given.phone_number), () => this.post("contact", body).catch(complain));
    this.choice.replaceChildren(
      this.option("photo", t("attach.photo"), t("attach.photo_hint"), pick("photo", PICTURES)),
      this.option("file", t("attach.document"), t("attach.document_hint"), pick("document", "")),
      contact(own, t("attach.own_contact"), { of: own.user_id }),
      ...others.map((other) => contact(other, t("attach.contact", { name: fullName(other) }), other)),
    );
    this.choice.hidden = false;
    return undefined;
  }

  option(picture, title, hint, act) {
    const run = () => { this.choice.hidden = true; act(); };
    return h("button", { class: "command", type: "button", onclick: run }, h("b", {}, icon(picture, 20)), h("span", {}, h("em", {}, title), h("small", {}, hint)));
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
    await this.post(this.kind, body);
  }
}
