"use strict";
const stops = [...document.querySelectorAll("section.stop")];
const first = document.querySelector("main").dataset.first;
document.body.classList.add("walking");
document.querySelector(".keys").hidden = false;

function at() {
  return document.getElementById(location.hash.slice(1) || first) || stops[0];
}

function show(focus) {
  const now = at().closest("section.stop") || document.getElementById(first);
  for (const stop of stops) stop.classList.toggle("current", stop === now);
  for (const link of document.querySelectorAll("nav a")) {
    if (link.hash === `#${now.id}`) {
      link.setAttribute("aria-current", "step");
      const group = link.closest("details");
      if (group) group.open = true;
      link.scrollIntoView({ block: "nearest" });
    } else link.removeAttribute("aria-current");
  }
  if (focus) {
    now.querySelector("h2").focus({ preventScroll: true });
    now.scrollIntoView({ block: "nearest" });
  }
}

addEventListener("hashchange", () => show(true));
addEventListener("keydown", (event) => {
  if (event.altKey || event.ctrlKey || event.metaKey || event.shiftKey) return;
  if (event.target.closest("pre, .wide, summary, button") && event.key !== "Escape") {
    if (event.target.scrollWidth > event.target.clientWidth) return;
  }
  const now = document.querySelector("section.current");
  const link = { ArrowLeft: "a[rel=prev]", ArrowRight: "a[rel=next]" }[event.key];
  const edges = now.querySelectorAll("a.edge");
  let target = link && now.querySelector(link);
  if (event.key === "Home") target = document.querySelector("nav a");
  if (event.key === "End") target = [...document.querySelectorAll("nav a")].pop();
  if (/^[1-9]$/.test(event.key)) target = edges[event.key - 1];
  if (event.key === "Backspace") history.back();
  if (target) {
    event.preventDefault();
    location.hash = target.hash;
  }
});
show(false);
