"use strict";
// The samples with the largest error, and the operators that stay in float.

function showSamples() {
  if (report.samples.length === 0) {
    byId("samples").hidden = true;
    return;
  }
  const hasClasses = report.samples.some((sample) => typeof sample.agrees === "boolean");
  const columns = [{ label: "Sample" }, { label: "Output SQNR", number: true }];
  byId("samples-body").append(
    smallTable(
      "Samples by the error of the output, worst first",
      hasClasses ? [...columns, { label: "Top class" }] : columns,
      report.samples.map((sample) => [
        String(sample.index),
        decibels(sample),
        ...(hasClasses ? [sample.agrees ? "same" : element("strong", {}, "differs")] : [])
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

/** Why operators are in float: with the name in it where it is the same for all. */
function reasonOf(operators) {
  const reasons = new Set(operators.map((operator) => operator.because ?? kNone));
  return reasons.size === 1 ? [...reasons][0] : withoutNames(operators[0].because);
}

function withoutNames(text) {
  return text?.replaceAll(/'[^']*'/g, "…");
}

function showFloatOperators() {
  const operators = report.float_operators;
  const alike = Map.groupBy(operators, (operator) =>
    JSON.stringify([operator.op, withoutNames(operator.because)])
  );
  byId("float-body").append(
    operators.length === 0
      ? element("p", { class: "quiet" }, "None: every operator runs on integers.")
      : smallTable(
          `${plural(operators.length, "operator")} in float`,
          [{ label: "Operator" }, { label: "Because" }, { label: "Where" }],
          [...alike.values()].map((group) => [group[0].op, reasonOf(group), namesOf(group)])
        )
  );
}
