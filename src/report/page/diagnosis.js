"use strict";
// What went wrong where, in words, and the lines of configuration that act on it.

const kKinds = {
  accumulator: "The accumulator is too narrow",
  activation_outlier: "A few values stretch the range",
  bias_overflow: "Biases do not fit their scale",
  input_preparation: "Samples look wrongly prepared",
  few_levels: "Few of the integers are used",
  lossy_layer: "Large local error",
  mask: "A constant that masks",
  not_finite: "Values are not finite",
  outlier_channel: "One channel stretches the range of all",
  spread_loss: "Many small errors add up",
  saturation: "Many values are clipped",
  weight_error: "Large quantization error of weights",
  weight_range: "Channels of the weights differ widely",
  wide_range: "The range is wider than its values"
};

function severity(value) {
  return value >= 2 / 3
    ? { word: "severe", steps: 3 }
    : value >= 1 / 3
      ? { word: "moderate", steps: 2 }
      : { word: "minor", steps: 1 };
}

function kindInWords(kind) {
  return kKinds[kind] ?? capitalized(String(kind ?? "finding").replaceAll("_", " "));
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

const kLinesShown = 8;

/** Of many lines the first are shown, and the others where they are asked for. */
function yamlBlock(yaml, of) {
  const source = element("code", {}, yaml.trimEnd());
  const button = element(
    "button",
    { type: "button", class: "copy", click: () => copy(source, button) },
    "Copy"
  );
  const lines = { role: "region", "aria-label": `Lines of configuration: ${of}` };
  const block = element("div", { class: "yaml" }, element("pre", lines, source), button);
  const length = source.textContent.split("\n").length;
  if (length > kLinesShown) {
    block.classList.add("clipped");
    const all = element(
      "button",
      {
        type: "button",
        class: "all-lines",
        click: () => {
          block.classList.remove("clipped");
          all.remove();
        }
      },
      `Show all ${count(length)} lines`
    );
    block.append(all);
  }
  return block;
}

/** Rules for several layers go into one list, as a configuration has them; anything else stays apart. */
function combined(findings) {
  const head = "layers:\n";
  const blocks = [...new Set(findings.map((finding) => finding.yaml).filter(Boolean))];
  if (!blocks.every((block) => block.startsWith(head))) {
    return blocks;
  }
  const rules = new Set(blocks.flatMap((block) => block.slice(head.length).trimEnd().split("\n")));
  return rules.size > 0 ? [head + [...rules].join("\n")] : [];
}

/** What the lines of configuration did when they were tried. */
function trialOf({ tried, yaml }) {
  if (!tried) {
    return yaml ? element("p", { class: "quiet" }, "Not tried.") : null;
  }
  const gain = (value) => `${value < 0 ? "" : "+"}${fixed(value, 1)} dB`;
  return element(
    "p",
    { class: "quiet" },
    `Tried on ${plural(tried.samples, "sample")}: ${gain(tried.alone)} at the output alone, ` +
      `${gain(tried.with_others)} with the other proposals.`
  );
}

function caseOf(finding) {
  return element(
    "li",
    {},
    finding.layer ? element("p", { class: "where" }, "in ", layerLink(finding.layer)) : null,
    element("p", {}, sentence(finding.text)),
    trialOf(finding)
  );
}

/** The first few, and the others where they are asked for. */
function cases(findings) {
  const shown = findings.length <= 4 ? findings.length : 3;
  const list = (some) => element("ul", { class: "cases" }, some.map(caseOf));
  const others = findings.slice(shown);
  return [
    list(findings.slice(0, shown)),
    others.length > 0
      ? element("details", {}, element("summary", {}, `${count(others.length)} more`), list(others))
      : null
  ];
}

/** What is wrong with one layer or, in the same way, with several: the worst first. */
function findingCard(findings) {
  const { kind, severity: worst, advice } = findings[0];
  const { word, steps } = severity(worst);
  const marks = "■".repeat(steps) + "□".repeat(3 - steps);
  const layers =
    findings.length > 1
      ? element("span", { class: "quiet" }, ` in ${plural(findings.length, "layer")}`)
      : null;
  return element(
    "li",
    { class: `finding ${word}` },
    element(
      "p",
      { class: "severity" },
      element("span", { class: "steps", "aria-hidden": "true" }, marks),
      ` ${word}`
    ),
    element(
      "div",
      {},
      element("h3", {}, kindInWords(kind), layers),
      cases(findings),
      advice ? element("p", { class: "advice" }, sentence(advice)) : null,
      combined(findings).map((yaml) => yamlBlock(yaml, kindInWords(kind)))
    )
  );
}

function showDiagnosis() {
  const sorted = report.diagnosis.toSorted((a, b) => (b.severity ?? 0) - (a.severity ?? 0));
  const alike = Map.groupBy(sorted, (finding) => JSON.stringify([finding.kind, finding.advice]));
  byId("diagnosis-body").append(
    sorted.length > 0
      ? element("ol", { class: "findings" }, [...alike.values()].map(findingCard))
      : element("p", { class: "quiet" }, "Nothing stands out.")
  );
}
