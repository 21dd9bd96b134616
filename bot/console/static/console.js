// Light, dark, or as the system has it: kept in this browser alone.
function showTheme() {
  const chosen = localStorage.getItem("sdelka-theme");
  if (chosen && window.Quasar) Quasar.Dark.set(chosen === "dark");
}
function switchTheme() {
  localStorage.setItem("sdelka-theme", Quasar.Dark.isActive ? "light" : "dark");
  showTheme();
}
window.addEventListener("load", () => setTimeout(showTheme, 0));
