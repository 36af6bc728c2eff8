// Typesets the formulas of a page with the KaTeX beside this file.
document.addEventListener("DOMContentLoaded", () => {
  for (const element of document.querySelectorAll(".tex")) {
    katex.render(element.textContent, element, {
      displayMode: element.classList.contains("display"),
      throwOnError: false,
      strict: false,
    });
  }
});
