// Short notices over the chat, and the alert that wants to be closed.

import { byId, h } from "./dom.js";

const SECONDS = 4.5;

export function toast(text, kind = "") {
  const notice = h("div", { class: `toast ${kind}` }, text);
  byId("toasts").append(notice);
  setTimeout(() => notice.remove(), SECONDS * 1000);
}

export const complain = (error) => toast(error.message, "bad");

export function alertWith(text) {
  const dialog = byId("alert");
  dialog.querySelector("p").textContent = text;
  if (!dialog.open) dialog.showModal();
}
