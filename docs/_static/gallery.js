// A search box on the gallery: only figures whose question or title holds every word stay.
"use strict";
addEventListener("DOMContentLoaded", () => {
  const gallery = document.querySelector("section#gallery");
  if (!gallery) return;
  const field = Object.assign(document.createElement("input"), {
    id: "find-figure", type: "search", placeholder: "Find a figure: words of its question or title",
  });
  field.setAttribute("aria-label", field.placeholder);
  gallery.querySelector("section").before(field);
  // A question is a row; elsewhere each cell is a figure.
  const story = (cell) => cell.closest("table").querySelector("th").textContent.trim() !== "";
  const units = [...new Set([...gallery.querySelectorAll(":scope section td")].map((cell) => story(cell) ? cell.parentNode : cell))];
  field.addEventListener("input", () => {
    const words = field.value.toLowerCase().split(/\s+/);
    for (const unit of units) unit.classList.toggle("hidden", !words.every((word) => unit.textContent.toLowerCase().includes(word)));
    for (const section of gallery.querySelectorAll("section"))
      section.classList.toggle("hidden", !units.some((unit) => section.contains(unit) && !unit.classList.contains("hidden")));
  });
});
