"use strict";
// The report's data, and what can be found in it by name.

const report = JSON.parse(byId("report-data").textContent);
for (const list of ["outputs", "layers", "points", "samples", "diagnosis", "float_operators"]) {
  report[list] = report[list] ?? [];
}

const layerIndexes = new Map(report.layers.map((layer, index) => [layer.name, index]));
const points = new Map(report.points.map((point) => [point.name, point]));
const findings = Map.groupBy(report.diagnosis, (finding) => finding.layer); // by name of a layer

/** The point of a layer's result; undefined where the result is not quantized. */
function resultPoint(layer) {
  return points.get(layer.point);
}

/** Share of a point's values outside its range. */
function saturation(point) {
  return point?.saturated ? point.saturated.low + point.saturated.high : null;
}

/** Share of the integers of a point that occur. */
function rangeUse(point) {
  return isNumber(point?.levels_used) && point.levels > 0 ? point.levels_used / point.levels : null;
}

function runsAs(layer) {
  return layer.runs_as ?? "float";
}

/** What a name of the report leads to: a button when there is such a layer, else the name. */
function layerLink(name) {
  const index = layerIndexes.get(name);
  if (index === undefined) {
    return element("span", { class: "name" }, name);
  }
  return element("button", { type: "button", class: "link name", click: () => openLayer(index) }, name);
}

function isInteger(layer) {
  return Boolean(layer.runs_as);
}
