"use strict";
// Light or dark: the system's choice unless the reader makes one, which is kept where the browser
// keeps anything for pages opened from files.

const kThemeKey = "tare-report-theme";

function showTheme(theme) {
  if (theme === "auto") {
    delete document.documentElement.dataset.theme;
  } else {
    document.documentElement.dataset.theme = theme;
  }
}

function setUpTheme() {
  let kept = null;
  try {
    kept = localStorage.getItem(kThemeKey);
  } catch {
    // Storage is forbidden: the choice lasts as long as the page.
  }
  for (const input of byId("theme").querySelectorAll("input")) {
    if (input.value === kept) {
      input.checked = true;
      showTheme(kept);
    }
    input.addEventListener("change", () => {
      showTheme(input.value);
      try {
        localStorage.setItem(kThemeKey, input.value);
      } catch {
        // As above.
      }
    });
  }
}
