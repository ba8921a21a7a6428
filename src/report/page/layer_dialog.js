"use strict";
// All that is known of one layer, in front of the page.

let openIndex = null;

function openLayer(index) {
  openIndex = index;
  const dialog = byId("layer-dialog");
  dialog.replaceChildren(...layerParts(index));
  if (!dialog.open) {
    dialog.showModal();
  }
  dialog.scrollTop = 0;
  byId("layer-title").focus();
}

/** The layer that is `step` layers away from the open one, where there is one. */
function openNeighbour(step) {
  const next = openIndex + step;
  if (next >= 0 && next < report.layers.length) {
    openLayer(next);
  }
}

function layerParts(index) {
  const layer = report.layers[index];
  const dialog = byId("layer-dialog");
  const step = (label, by) =>
    element(
      "button",
      {
        type: "button",
        "data-step": by,
        disabled: report.layers[index + by] === undefined,
        click: () => {
          openNeighbour(by);
          dialog.querySelector(`[data-step="${by}"]:enabled`)?.focus(); // the keyboard stays where it was
        }
      },
      label
    );
  return [
    element(
      "header",
      {},
      element(
        "div",
        {},
        element(
          "p",
          { class: "kicker" },
          `Layer ${count(index + 1)} of ${count(report.layers.length)} · ${layer.op}`
        ),
        element("h2", { id: "layer-title", tabindex: "-1", class: "name" }, layer.name),
        element(
          "p",
          { class: "quiet" },
          layer.runs_as
            ? `runs as ${layer.runs_as}`
            : `runs in float${layer.float_because ? `: ${layer.float_because}` : ""}`
        )
      ),
      element(
        "div",
        { class: "buttons" },
        step("Previous", -1),
        step("Next", 1),
        element("button", { type: "button", click: () => dialog.close() }, "Close")
      )
    ),
    ...(findings.get(layer.name) ?? []).map((finding) =>
      element(
        "aside",
        { class: "finding-note" },
        element("h3", {}, kindInWords(finding.kind)),
        element("p", {}, `${sentence(finding.text)} ${sentence(finding.advice)}`),
        finding.yaml ? yamlBlock(finding.yaml, `${kindInWords(finding.kind)} in ${layer.name}`) : null
      )
    ),
    errorSection(layer),
    resultPoint(layer) ? pointSection(resultPoint(layer), "Result") : null,
    layer.weight ? weightSection(layer.weight) : null,
    layer.accumulator ? accumulatorSection(layer.accumulator) : null,
    inputSection(layer)
  ].filter(Boolean);
}

function errorSection(layer) {
  const errors = [layer.local, layer.cumulative];
  const row = (label, text) => [label, ...errors.map((error) => (error ? text(error) : kNone))];
  return element(
    "section",
    {},
    element("h3", {}, "Error of the result"),
    smallTable(
      "Against the float network",
      [{ label: "Figure" }, { label: "Local", number: true }, { label: "Cumulative", number: true }],
      [
        row("SQNR", decibels),
        row("Cosine", (error) => fixed(error.cosine, 6)),
        row("Relative L2", (error) => significant(error.relative_l2)),
        row("Mean squared error", (error) => significant(error.mse)),
        row("Largest error", (error) => significant(error.max_error?.value)),
        row("… float and quantized", (error) => pairOf(error.max_error)),
        row("… where", (error) => placeOf(error.max_error))
      ]
    ),
    layer.macs > 0
      ? element("p", { class: "quiet" }, `${count(layer.macs)} multiplications for one sample`)
      : null,
    layer.point ? null : element("p", { class: "quiet" }, "The result is not quantized.")
  );
}

function pairOf(largest) {
  return isNumber(largest?.float)
    ? `${significant(largest.float, 4)} and ${significant(largest.quantized, 4)}`
    : kNone;
}

function placeOf(largest) {
  return isNumber(largest?.sample)
    ? `sample ${largest.sample}, [${(largest.index ?? []).join(", ")}]`
    : kNone;
}

function pointSection(point, title) {
  const clipped = point.saturated;
  return element(
    "section",
    {},
    element("h3", {}, title, " ", element("span", { class: "name quiet" }, point.name)),
    point.histogram?.counts?.length > 0 ? element("figure", {}, new Histogram(point).element()) : null,
    element(
      "dl",
      { class: "facts" },
      fact(
        "Stored as",
        point.storage,
        point.granularity === "per_tensor" ? null : point.granularity?.replaceAll("_", " ")
      ),
      fact("Scale", significant(point.scale, 5)),
      fact("Zero point", count(point.zero_point)),
      fact("Calibrator", point.calibrator),
      fact("Observed range", range(...(point.observed ?? []))),
      fact("Calibrated range", range(...(point.calibrated ?? []))),
      fact("Saturated", clipped ? clippedText(clipped) : null),
      fact(
        "Integers used",
        isNumber(point.levels_used) ? `${count(point.levels_used)} of ${count(point.levels)}` : null
      ),
      fact("Effective bits", fixed(point.effective_bits, 1)),
      fact("Zeros", share(point.zeros)),
      fact("Others rounded to 0", share(point.lost)),
      fact(
        "Widest channel",
        point.widest_channel,
        isNumber(point.channel_ratio) ? `${significant(point.channel_ratio)} times the median one` : null
      ),
      fact("Error of rounding alone", decibels(point.error)),
      fact(
        "Expected behind the activation function",
        isNumber(point.sqnr_behind) ? `${fixed(point.sqnr_behind, 1)} dB` : null
      )
    ),
    point.alternatives?.length > 0 ? alternativeCalibrators(point) : null
  );
}

function clippedText({ low, high }) {
  return low + high === 0 ? "none" : `${share(low)} below, ${share(high)} above`;
}

function alternativeCalibrators(point) {
  return smallTable(
    "What each calibrator would choose",
    [
      { label: "Calibrator" },
      { label: "Range", number: true },
      { label: "Expected mean squared error", number: true }
    ],
    point.alternatives.map((other) => [
      other.name === point.calibrator ? `${other.name}, chosen` : other.name,
      range(other.low, other.high),
      significant(other.error)
    ])
  );
}

/** One square for each bit: observed on the samples, possible for any input, spare. */
function accumulatorSection(sums) {
  const { bits_observed: observed, bits_worst_case: worstCase } = sums;
  const squares = Array.from({ length: 32 }, (unused, i) =>
    svg("rect", {
      x: i * 14,
      y: 0,
      width: 11,
      height: 11,
      rx: 1.5,
      class: i < observed ? "bit observed" : i < worstCase ? "bit possible" : "bit"
    })
  );
  return element(
    "section",
    {},
    element("h3", {}, "Accumulator"),
    svg("svg", { class: "bits", viewBox: "0 0 448 12", "aria-hidden": "true" }, squares),
    element(
      "dl",
      { class: "facts" },
      fact("Observed on the samples", isNumber(observed) ? plural(observed, "bit") : null),
      fact("Worst case of any input", isNumber(worstCase) ? plural(worstCase, "bit") : null),
      fact("Headroom above the bias", isNumber(sums.bias_margin) ? `${fixed(sums.bias_margin, 1)} bits` : null),
      fact("Channels of weights with a widened scale", count(sums.widened_channels))
    )
  );
}

function inputSection(layer) {
  const inputs = layer.inputs ?? [];
  if (inputs.length === 0) {
    return null;
  }
  return element(
    "section",
    {},
    element("h3", {}, "Reads"),
    element(
      "ul",
      { class: "inputs" },
      inputs.map((name) => {
        const source = report.layers[layerIndexes.get(name)];
        const point = points.get(name) ?? (source ? resultPoint(source) : undefined);
        return element(
          "li",
          {},
          layerLink(name),
          point
            ? element(
                "details",
                {},
                element("summary", {}, `${point.storage}, range ${range(...(point.calibrated ?? []))}`),
                pointSection(point, "Point")
              )
            : element("span", { class: "quiet" }, source ? " real values" : "")
        );
      })
    )
  );
}

function setUpDialog() {
  const dialog = byId("layer-dialog");
  dialog.addEventListener("click", (event) => {
    if (event.target === dialog) {
      dialog.close();
    }
  });
  dialog.addEventListener("keydown", (event) => {
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (step !== undefined && !event.altKey) {
      event.preventDefault();
      openNeighbour(step);
    }
  });
}
