// How times, sums and names are written.

import { locale, t } from "./texts.js";

const DAY = 86_400_000;
const startOfDay = (date) => new Date(date.getFullYear(), date.getMonth(), date.getDate()).getTime();

export const clock = (date) => date.toLocaleTimeString(locale(), { hour: "2-digit", minute: "2-digit" });
export const clockSeconds = (date) => date.toLocaleTimeString(locale());
export const sameDay = (one, other) => startOfDay(one) === startOfDay(other);

export function dayLabel(date) {
  const days = Math.round((startOfDay(new Date()) - startOfDay(date)) / DAY);
  if (days === 0) return t("chat.today");
  if (days === 1) return t("chat.yesterday");
  const year = date.getFullYear() === new Date().getFullYear() ? {} : { year: "numeric" };
  return date.toLocaleDateString(locale(), { day: "numeric", month: "long", ...year });
}

export function shortMoment(date) {
  return sameDay(date, new Date()) ? clock(date) : date.toLocaleDateString(locale(), { day: "numeric", month: "short" });
}

const SIGNS = { RUB: "₽", USD: "$", EUR: "€" };

export function money(sum, currency = "RUB") {
  const digits = Number.isInteger(sum) ? 0 : 2;
  const number = sum.toLocaleString(locale(), { minimumFractionDigits: digits, maximumFractionDigits: digits });
  return `${number} ${SIGNS[currency] ?? currency}`;
}

export function roughly(sum) {
  return `${new Intl.NumberFormat(locale(), { notation: "compact", maximumFractionDigits: 1 }).format(sum)} ₽`;
}

export function bytes(size) {
  const megabytes = size / 1024 / 1024;
  if (size < 1024) return t("units.bytes", { n: size });
  if (megabytes < 1) return t("units.kilobytes", { n: Math.round(size / 1024) });
  return t("units.megabytes", { n: megabytes.toLocaleString(locale(), { minimumFractionDigits: 1, maximumFractionDigits: 1 }) });
}

export const initials = (name) => name.split(/\s+/).slice(0, 2).map((word) => word[0] ?? "").join("").toUpperCase() || "?";

export function hue(name) {
  let sum = 0;
  for (const character of name.split(" ")[0]) sum = (sum * 25 + character.codePointAt(0)) % 997;
  return `hue-${sum % 7}`;
}

export function parseMoment(text) {
  const date = new Date(text);
  return Number.isNaN(date.getTime()) ? null : date;
}

export const fullName = ({ first_name: first, last_name: last }) => [first, last].filter(Boolean).join(" ");

// Telegram sends the number of an account without a plus.
export const phone = (number) => (/^\d/.test(number) ? `+${number}` : number).replace(/^\+7(\d{3})(\d{3})(\d\d)(\d\d)$/, "+7 $1 $2-$3-$4");
