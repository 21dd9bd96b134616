// How times, sums and names are written.

const DAY = 86_400_000;
const startOfDay = (date) => new Date(date.getFullYear(), date.getMonth(), date.getDate()).getTime();

export const clock = (date) => date.toLocaleTimeString("ru-RU", { hour: "2-digit", minute: "2-digit" });
export const clockSeconds = (date) => date.toLocaleTimeString("ru-RU");
export const sameDay = (one, other) => startOfDay(one) === startOfDay(other);

export function dayLabel(date) {
  const days = Math.round((startOfDay(new Date()) - startOfDay(date)) / DAY);
  if (days === 0) return "Сегодня";
  if (days === 1) return "Вчера";
  const year = date.getFullYear() === new Date().getFullYear() ? {} : { year: "numeric" };
  return date.toLocaleDateString("ru-RU", { day: "numeric", month: "long", ...year });
}

export function shortMoment(date) {
  return sameDay(date, new Date()) ? clock(date) : date.toLocaleDateString("ru-RU", { day: "numeric", month: "short" });
}

const SIGNS = { RUB: "₽", USD: "$", EUR: "€" };

export function money(sum, currency = "RUB") {
  const digits = Number.isInteger(sum) ? 0 : 2;
  const number = sum.toLocaleString("ru-RU", { minimumFractionDigits: digits, maximumFractionDigits: digits });
  return `${number} ${SIGNS[currency] ?? currency}`;
}

export function roughly(sum) {
  return `${new Intl.NumberFormat("ru-RU", { notation: "compact", maximumFractionDigits: 1 }).format(sum)} ₽`;
}

export function bytes(size) {
  if (size < 1024) return `${size} Б`;
  return size < 1024 * 1024 ? `${Math.round(size / 1024)} КБ` : `${(size / 1024 / 1024).toFixed(1).replace(".", ",")} МБ`;
}

export function plural(count, one, few, many) {
  const form = new Intl.PluralRules("ru-RU").select(count);
  return `${count.toLocaleString("ru-RU")} ${form === "one" ? one : form === "few" ? few : many}`;
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
