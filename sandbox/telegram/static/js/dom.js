// Building elements without ever parsing HTML: text of people and of the CRM can only become text.

export function h(tag, props = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(props)) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "class") element.className = value;
    else if (name === "data") Object.assign(element.dataset, value);
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

const PATHS = {
  menu: "M4 7h16M4 12h16M4 17h10",
  send: "M5 12h13M12 5.5 18.5 12 12 18.5",
  down: "M6 9.5l6 6 6-6",
  check: "M5 12.5l4.6 4.5L19 7.5",
  checks: "M2.5 12.5 7 17l9-9.5M11 15.6l1.5 1.4 9-9.5",
  reply: "M10 7 4.5 12 10 17M5 12h8.5c3.5 0 6 2 6.5 5.5",
  close: "M6.5 6.5l11 11M17.5 6.5l-11 11",
  file: "M13.5 3.5H7A1.5 1.5 0 0 0 5.500 5v14A1.500 1.500 0 0 0 7 20.500h10a1.500 1.500 0 0 0 1.500-1.500V8.500zM13.500 3.500v5h5",
  moon: "M20 14.2A8 8 0 0 1 9.800 4 8.200 8.200 0 1 0 20 14.200z",
  sun: "M12 4V2M12 22v-2M4 12H2M22 12h-2M6.300 6.300 4.900 4.900M19.100 19.100l-1.400-1.400M6.300 17.700l-1.400 1.400M19.100 4.900l-1.400 1.400M16 12a4 4 0 1 1-8 0 4 4 0 0 1 8 0z",
  link: "M8 16 16.500 7.500M9.500 7h7.500v7.500",
  copy: "M9 9h10v10H9zM5 15V5h10",
  people: "M9 11.500a3.500 3.500 0 1 0 0-7 3.500 3.500 0 0 0 0 7zM2.500 19.500c.6-3.400 3-5 6.500-5s5.900 1.600 6.500 5M16 11a3 3 0 0 0 0-6M18 14.800c2 .6 3.200 2.100 3.600 4.700",
  chat: "M4 6.500A2.500 2.500 0 0 1 6.500 4h11A2.500 2.500 0 0 1 20 6.500v7a2.500 2.500 0 0 1-2.500 2.500H11l-5 4v-4.100A2.500 2.500 0 0 1 4 13.500z",
  crm: "M4 5h16v5H4zM4 14h16v5H4zM7.500 7.500h3M7.500 16.500h3",
  audit: "M6 3.500h12v17l-3-2-3 2-3-2-3 2zM9.500 8.500h5M9.500 12.500h5",
  tour: "M6 20V4.500c4-2 8 2 12 0v9c-4 2-8-2-12 0",
  saved: "M5 12.500l4.600 4.500L19 7.500",
  play: "M8 5.500v13l10.500-6.500z",
  pause: "M8.500 6v12M15.500 6v12",
  mic: "M12 15a3.500 3.500 0 0 0 3.500-3.500v-5a3.500 3.500 0 0 0-7 0v5A3.500 3.500 0 0 0 12 15zM5.500 11.500a6.500 6.500 0 0 0 13 0M12 18v3",
  clip: "M19.500 11.500 12 19a4.600 4.600 0 0 1-6.500-6.500l8-8a3 3 0 0 1 4.300 4.300l-7.800 7.800a1.500 1.500 0 0 1-2.100-2.100l7-7",
  photo: "M5.500 7.500h3l1.500-2.500h4l1.500 2.500h3A1.500 1.500 0 0 1 20 9v8.500a1.500 1.500 0 0 1-1.500 1.500h-13A1.500 1.500 0 0 1 4 17.500V9a1.500 1.500 0 0 1 1.500-1.500zM12 16a3 3 0 1 0 0-6 3 3 0 0 0 0 6z",
  contact: "M12 12a4 4 0 1 0 0-8 4 4 0 0 0 0 8zM4.500 20c.7-3.600 3.500-5.500 7.500-5.500s6.800 1.900 7.500 5.500",
  forward: "M14 7l5.500 5-5.500 5M19 12h-8.500c-3.500 0-6 2-6.500 5.500",
  eye: "M2.500 12S6 5.500 12 5.500 21.500 12 21.500 12 18 18.500 12 18.500 2.500 12 2.500 12zM12 14.500a2.500 2.500 0 1 0 0-5 2.500 2.500 0 0 0 0 5z",
  stop: "M7.500 7.500h9v9h-9z",
};

export function icon(name, size = 22) {
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  const path = document.createElementNS("http://www.w3.org/2000/svg", "path");
  const look = { viewBox: "0 0 24 24", width: size, height: size, fill: "none", stroke: "currentColor", "stroke-width": 2,
    "stroke-linecap": "round", "stroke-linejoin": "round", "aria-hidden": "true" };
  for (const [key, value] of Object.entries(look)) svg.setAttribute(key, value);
  path.setAttribute("d", PATHS[name]);
  svg.append(path);
  return svg;
}

export const byId = (id) => document.getElementById(id);

export function emptyState(iconName, title, text) {
  return h("div", { class: "empty" }, icon(iconName, 40), h("b", {}, title), text);
}
