"use strict";
// What a reader in a hurry wants to know.

const kLevels = {
  good: { mark: "●", word: "Good" },
  fair: { mark: "▲", word: "Fair" },
  poor: { mark: "■", word: "Poor" }
};

function keyFigure(label, value, note) {
  return element(
    "div",
    {},
    element("dt", {}, label),
    element("dd", {}, value),
    element("dd", { class: "quiet" }, note)
  );
}

/** What a line does not end within: a number and its unit, or a range. */
function whole(text) {
  return element("span", { class: "whole" }, text);
}

function interval(proportion) {
  const ends = `${fixed(proportion.low, 1)} – ${fixed(proportion.high, 1)} %`;
  return ["95\u00a0% interval ", whole(ends.replaceAll(" ", "\u00a0"))];
}

function arrow(from, to) {
  return [from, element("span", { class: "arrow", "aria-label": "to" }, " → "), to];
}

function arrowOfFigures(from, to) {
  return arrow(whole(from), whole(to));
}

/** A unit that both have is said once. */
function sizes(from, to) {
  const [number, unit] = from.split(" ");
  return arrowOfFigures(to.endsWith(` ${unit}`) ? number : from, to);
}

/** What the samples are, where that is known: figures on calibration samples look too good. */
const kEvaluatedOn = { calibration: "calibration sample", held_out: "held-out sample" };

function evaluationSample() {
  return kEvaluatedOn[report.data?.evaluated_on] ?? "sample";
}

function keyFigures() {
  const figures = [];
  const output = report.output;
  if (output) {
    const name = report.outputs.length > 1 ? `worst output, ${output.name}` : `output ${output.name}`;
    figures.push(keyFigure("Output SQNR", decibels(output), name));
  }
  const agreement = (report.outputs.find((candidate) => candidate.name === output?.name) ?? output)
    ?.agreement;
  if (agreement) {
    figures.push(
      keyFigure(
        "Same top class",
        percent(agreement.percent),
        [`${count(agreement.count)} of ${plural(agreement.of, evaluationSample())}, `, interval(agreement)]
      )
    );
  }
  const top1 = report.top1;
  if (top1) {
    figures.push(
      keyFigure(
        "Accuracy",
        arrowOfFigures(fixed(top1.float.percent, 2), `${fixed(top1.quantized.percent, 2)} %`),
        [
          `${changeInWords(top1.drop)}, `,
          interval(top1.quantized),
          report.data?.evaluated_on === "calibration" ? ", on calibration samples" : ""
        ]
      )
    );
  }
  const before = report.float_model;
  const after = report.quantized_model;
  if (before?.bytes > 0 && after?.bytes > 0) {
    figures.push(
      keyFigure(
        "File",
        sizes(bytes(before.bytes), bytes(after.bytes)),
        `${fixed((100 * after.bytes) / before.bytes, 0)} % of the size`
      )
    );
  }
  if (after?.operators > 0) {
    figures.push(
      keyFigure(
        "On integers",
        `${count(after.integer_operators)} of ${count(after.operators)}`,
        "operators of the network"
      )
    );
  }
  return figures;
}

function changeInWords(drop) {
  if (!isNumber(drop) || Math.abs(drop) < 0.005) {
    return "no change";
  }
  return `${fixed(Math.abs(drop), 2)} points ${drop > 0 ? "lost" : "gained"}`;
}

function outputsTable() {
  return smallTable(
    "Outputs",
    [
      { label: "Output" },
      { label: "SQNR", number: true },
      { label: "Cosine", number: true },
      { label: "Relative L2", number: true },
      { label: "Largest error", number: true },
      { label: "Same top class", number: true }
    ],
    report.outputs.map((output) => [
      element("span", { class: "name" }, output.name),
      decibels(output),
      fixed(output.cosine, 5),
      significant(output.relative_l2),
      significant(output.max_error?.value),
      percent(output.agreement?.percent)
    ])
  );
}

function fileName(path) {
  return String(path || kNone)
    .split("/")
    .pop();
}

function showVerdict() {
  document.title = `${fileName(report.quantized_model?.file)}: quantization report`;
  byId("title").append(...arrow(fileName(report.float_model?.file), fileName(report.quantized_model?.file)));
  byId("circumstances").textContent = [
    isNumber(report.data?.samples)
      ? `${plural(report.data.samples, evaluationSample())} of ${fileName(report.data.file)}`
      : null,
    report.target ? `target ${report.target}` : null,
    report.layers.length > 0 ? plural(report.layers.length, "layer") : null
  ]
    .filter(Boolean)
    .join(" · ");

  const level = kLevels[report.verdict?.level];
  if (level) {
    const badge = byId("verdict-level");
    badge.className = report.verdict.level;
    badge.append(element("span", { "aria-hidden": "true" }, level.mark), ` ${level.word}`);
  }
  byId("verdict-text").textContent = report.verdict?.text || "What quantization changed";
  if (report.data?.evaluated_on === "calibration") {
    byId("verdict-text").after(
      element(
        "p",
        { class: "caution" },
        "Measured on samples that the network was calibrated on; on others the figures may be worse. ",
        element("code", {}, "--eval FILE"),
        " or ",
        element("code", {}, "--holdout N"),
        " measures on others."
      )
    );
  }
  byId("key-figures").append(...keyFigures());
  if (report.outputs.length > 1) {
    byId("outputs").append(
      sideways(
        element(
          "div",
          { class: "wide", tabindex: 0, role: "region", "aria-label": "Table of outputs" },
          outputsTable()
        )
      )
    );
  }
  byId("made-by").textContent =
    `Made by ${report.tool?.name ?? "tare"} ${report.tool?.version ?? ""}, report format ${report.version ?? kNone}.`;
}
