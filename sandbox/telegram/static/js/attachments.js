// What hangs in a bubble beside its text: a picture, a file with its size, a contact, a voice message that plays.

import { h, icon } from "./dom.js";
import { bytes, fullName, phone } from "./format.js";
import { t } from "./texts.js";

const BARS = 34;

export function picture(message) {
  if (!message.photo) return null;
  const { file_id: id, width, height } = message.photo.at(-1);
  return h("img", { class: "photo", src: `/sandbox/files/${id}`, width, height, alt: message.text || t("message.photo") });
}

export function attachment(message) {
  const file = message.document;
  if (!file) return null;
  const kind = /\.([a-z0-9]{1,4})$/i.exec(file.file_name)?.[1];
  return h("a", { class: "file", href: `/sandbox/files/${file.file_id}`, download: file.file_name, title: t("message.download", { name: file.file_name }) },
    h("i", {}, kind ? h("em", {}, kind.toLowerCase()) : icon("file", 22)), h("span", {}, h("b", {}, file.file_name), h("small", {}, t("message.file_size", { size: bytes(file.file_size) }))));
}

export function contact(message) {
  const given = message.contact;
  if (!given) return null;
  return h("div", { class: "file contact" }, h("i", {}, icon("contact", 22)), h("span", {}, h("b", {}, fullName(given)), h("small", {}, phone(given.phone_number))));
}

export function voice(message) {
  if (!message.voice) return null;
  const { file_id: id, duration } = message.voice;
  const sound = new Audio(`/sandbox/files/${id}`);
  sound.preload = "none";
  const button = h("button", { class: "play", type: "button", "aria-label": t("message.listen"), onclick: () => turn(sound, button) }, icon("play", 20));
  const bars = h("span", { class: "bars", "aria-hidden": "true" }, wave(id).map((height) => bar(height)));
  const time = h("small", {}, lasting(duration));
  sound.addEventListener("timeupdate", () => {
    const heard = sound.currentTime / (duration || 1);
    [...bars.children].forEach((item, index) => item.classList.toggle("heard", index / BARS < heard));
    time.textContent = lasting(Math.max(0, duration - Math.floor(sound.currentTime)));
  });
  for (const kind of ["ended", "pause", "play"]) sound.addEventListener(kind, () => button.replaceChildren(icon(sound.paused ? "play" : "pause", 20)));
  sound.addEventListener("ended", () => { sound.currentTime = 0; });
  return h("div", { class: "voice" }, button, h("span", { class: "voice-body" }, bars, time));
}

function turn(sound, button) {
  if (!sound.paused) return sound.pause();
  return sound.play().catch(() => button.setAttribute("title", t("message.no_sound")));
}

function bar(height) {
  const element = h("i");
  element.style.height = `${height}px`;
  return element;
}

// The same recording always looks the same: its waveform is made of its id.
function wave(id) {
  let seed = [...id].reduce((sum, character) => (sum * 31 + character.codePointAt(0)) % 2147483647, 7);
  return Array.from({ length: BARS }, (_, index) => {
    seed = (seed * 48271) % 2147483647;
    const swell = 0.45 + 0.55 * Math.abs(Math.sin(index / 4.2));
    return Math.round(4 + (seed / 2147483647) * 18 * swell);
  });
}

const lasting = (seconds) => `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, "0")}`;
