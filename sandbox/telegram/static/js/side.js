// What the tabs of the right column share: when to look again, which tab is open, whether the window is narrow.

import { byId, h, icon } from "./dom.js";

const TABS = ["crm", "audit", "tour", "console", "second"];
const narrow = window.matchMedia("(max-width: 899px)");

export class Side {
  constructor() {
    this.tab = "crm";
    this.panes = {};
    for (const button of document.querySelectorAll("#tabs button")) button.addEventListener("click", () => this.open(button.dataset.tab));
    for (const button of document.querySelectorAll("#bottom button")) {
      button.prepend(icon(button.dataset.pane, 22));
      button.addEventListener("click", () => this.pane(button.dataset.pane));
    }
  }

  open(tab, filter) {
    this.tab = tab;
    for (const name of TABS) byId(`pane-${name}`).hidden = name !== tab;
    for (const button of document.querySelectorAll("#tabs button")) {
      button.setAttribute("aria-selected", String(button.dataset.tab === tab));
      if (button.dataset.tab === tab) button.querySelector(".dot")?.remove();
    }
    if (narrow.matches && byId("app").dataset.pane !== "chat") this.mark(tab);
    this.panes[tab]?.shown(filter);
  }

  // In a narrow window one pane fills the screen; in a wide one this only picks the tab.
  pane(name) {
    if (TABS.includes(name)) this.open(name);
    this.mark(name);
  }

  mark(name) {
    byId("app").dataset.pane = name;
    for (const button of document.querySelectorAll("#bottom button")) {
      const here = button.dataset.pane === name;
      if (here) button.setAttribute("aria-current", "page"), button.querySelector(".dot")?.remove();
      else button.removeAttribute("aria-current");
    }
  }

  // Something changed in a place that is not on the screen.
  hint(name) {
    const bottom = document.querySelector(`#bottom [data-pane="${name}"]`);
    if (byId("app").dataset.pane !== name && !bottom.querySelector(".dot")) bottom.append(h("i", { class: "dot" }));
    const top = document.querySelector(`#tabs [data-tab="${name}"]`);
    if (top && this.tab !== name && !top.querySelector(".dot")) top.append(h("i", { class: "dot" }));
  }
}

// Look again and again, never twice at once, and slowly while nobody looks at the window.
export function poll(look, milliseconds) {
  const again = async () => {
    await look();
    setTimeout(again, document.hidden ? milliseconds * 5 : milliseconds);
  };
  again();
}
