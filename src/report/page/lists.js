"use strict";
// The samples with the largest error, and the operators that stay in float.

function showSamples() {
  if (report.samples.length === 0) {
    byId("samples").hidden = true;
    return;
  }
  byId("samples-body").append(
    smallTable(
      "Samples by the error of the output, worst first",
      [{ label: "Sample" }, { label: "Output SQNR", number: true }, { label: "Top class" }],
      report.samples.map((sample) => [
        String(sample.index),
        decibels(sample),
        sample.agrees === true ? "same" : sample.agrees === false ? element("strong", {}, "differs") : kNone
      ])
    )
  );
}

function namesOf(operators) {
  const names = element(
    "ul",
    { class: "short" },
    operators.map((operator) => element("li", {}, layerLink(operator.name)))
  );
  return operators.length <= 3
    ? names
    : element("details", {}, element("summary", {}, plural(operators.length, "operator")), names);
}

function showFloatOperators() {
  const operators = report.float_operators;
  const alike = Map.groupBy(operators, (operator) => JSON.stringify([operator.op, operator.because]));
  byId("float-body").append(
    operators.length === 0
      ? element("p", { class: "quiet" }, "None: every operator runs on integers.")
      : smallTable(
          `${plural(operators.length, "operator")} in float`,
          [{ label: "Operator" }, { label: "Because" }, { label: "Where" }],
          [...alike.values()].map((group) => [group[0].op, group[0].because ?? kNone, namesOf(group)])
        )
  );
}
