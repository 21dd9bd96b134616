// Light, dark, or as the system has it: kept in this browser alone.
function showTheme() {
  const chosen = localStorage.getItem("sdelka-theme");
  if (chosen && window.Quasar) Quasar.Dark.set(chosen === "dark");
}
function switchTheme() {
  localStorage.setItem("sdelka-theme", Quasar.Dark.isActive ? "light" : "dark");
  showTheme();
}
// Texts in editors have the colours of the page.
function paintEditors() {
  const dark = document.body.classList.contains("body--dark");
  for (const code of document.querySelectorAll(".nicegui-codemirror")) {
    const made = getElement(Number(code.id.slice(1)));
    if (made?.editor && made.sdelkaDark !== dark) {
      made.setTheme(dark ? "githubDark" : "githubLight");
      made.sdelkaDark = dark;
    }
  }
}
setInterval(paintEditors, 300);
// What was typed and not saved (kept_texts.js) is forgotten when its person logs out here, in all tabs of this browser; they are asked first.
const LEFT = "sdelka-left", FORGET_FOR = 15000;
let forgottenAt = 0;
const isForgetting = () => Date.now() - forgottenAt < FORGET_FOR;
const listKept = (person) => Object.keys(localStorage).filter((name) => name.startsWith(`sdelka-text:${person}:`));
function forgetTexts(person) {
  forgottenAt = Date.now();
  for (const name of listKept(person)) localStorage.removeItem(name);
}
window.addEventListener("storage", (event) => {
  if (event.key === LEFT && event.newValue) forgetTexts(JSON.parse(event.newValue).person);
});
document.addEventListener("submit", (event) => {
  const form = event.target, person = form.dataset.person;
  if (!person) return;
  const leave = () => {
    localStorage.setItem(LEFT, JSON.stringify({ person, at: Date.now() }));
    forgetTexts(person);
    form.submit();
  };
  event.preventDefault();
  if (!listKept(person).length) return leave();
  Quasar.Dialog.create({
    message: form.dataset.question,
    cancel: { label: form.dataset.stay, flat: true, noCaps: true },
    ok: { label: form.dataset.leave, unelevated: true, noCaps: true, color: "negative" },
    class: "ask",
  }).onOk(leave);
});
