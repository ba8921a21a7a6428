"use strict";
// What went wrong where, in words, and the lines of configuration that act on it.

const kKinds = {
  activation_outlier: "A few values stretch the range",
  weight_range: "Channels of the weights differ widely",
  mask: "A constant that masks",
  bias_overflow: "Biases do not fit their scale",
  saturation: "Many values are clipped",
  few_levels: "Few of the integers are used"
};

function severity(value) {
  return value >= 2 / 3
    ? { word: "severe", steps: 3 }
    : value >= 1 / 3
      ? { word: "moderate", steps: 2 }
      : { word: "minor", steps: 1 };
}

function kindInWords(kind) {
  const words = String(kind ?? "finding").replaceAll("_", " ");
  return kKinds[kind] ?? words[0].toUpperCase() + words.slice(1);
}

async function copy(source, button) {
  try {
    await navigator.clipboard.writeText(source.textContent);
    button.textContent = "Copied";
    announce("Copied");
    setTimeout(() => {
      button.textContent = "Copy";
    }, 2000);
  } catch {
    // Not every browser lets a file reach the clipboard: the lines are marked for the reader to copy.
    getSelection().selectAllChildren(source);
    announce("The lines are selected; copy them with the keyboard");
  }
}

function yamlBlock(yaml) {
  const source = element("code", {}, yaml.trimEnd());
  const button = element(
    "button",
    { type: "button", class: "copy", click: () => copy(source, button) },
    "Copy"
  );
  return element("div", { class: "yaml" }, element("pre", {}, source), button);
}

function findingCard(finding) {
  const { word, steps } = severity(finding.severity);
  return element(
    "li",
    { class: `finding ${word}` },
    element(
      "p",
      { class: "severity" },
      element("span", { class: "steps", "aria-hidden": "true" }, "■".repeat(steps) + "□".repeat(3 - steps)),
      ` ${word}`
    ),
    element(
      "div",
      {},
      element("h3", {}, kindInWords(finding.kind)),
      finding.layer ? element("p", { class: "where" }, "in ", layerLink(finding.layer)) : null,
      element("p", {}, finding.text),
      finding.advice ? element("p", { class: "advice" }, finding.advice) : null,
      finding.yaml ? yamlBlock(finding.yaml) : null
    )
  );
}

function showDiagnosis() {
  const sorted = report.diagnosis.toSorted((a, b) => (b.severity ?? 0) - (a.severity ?? 0));
  byId("diagnosis-body").append(
    sorted.length > 0
      ? element("ol", { class: "findings" }, sorted.map(findingCard))
      : element("p", { class: "quiet" }, "Nothing stands out.")
  );
}
