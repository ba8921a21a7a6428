"use strict";
// The graph with one operator a row, in the order of execution. Values run in lanes beside the
// names, as histories of versions are drawn: as legible for 2,000 operators as for 20.

const kLane = { width: 14, height: 28, most: 24 };

/**
 * The lane of every node, and which values pass its row. A value keeps its lane from the node that
 * makes it to the last one that reads it. Rows: {node, lane, into: lanes that end or branch off here,
 * past: lanes that go on below; each as {lane, source}}.
 */
function laneRows(nodes) {
  const position = new Map(nodes.map((node, index) => [node.id, index]));
  const inputs = nodes.map((node, index) =>
    [...new Set(node.inputs ?? [])].map((id) => position.get(id)).filter((source) => source < index)
  );
  const readers = nodes.map(() => 0);
  inputs.flat().forEach((source) => {
    ++readers[source];
  });

  const lanes = []; // the index of the node whose value runs there, or null
  return nodes.map((node, index) => {
    const into = inputs[index].map((source) => ({ lane: lanes.indexOf(source), source }));
    let lane = null;
    for (const { lane: from, source } of into) {
      if (--readers[source] === 0) {
        lanes[from] = null;
        lane = lane === null ? from : Math.min(lane, from);
      }
    }
    if (lane === null) {
      const free = lanes.indexOf(null);
      lane = free === -1 ? lanes.length : free;
    }
    const past = lanes.flatMap((source, i) =>
      source === null || source === undefined ? [] : [{ lane: i, source }]
    );
    lanes[lane] = readers[index] > 0 ? index : null;
    return { node, index, lane, into, past, continues: readers[index] > 0 };
  });
}

class GraphView {
  constructor(nodes) {
    this.nodes = nodes;
    this.lanes = laneRows(nodes);
    this.regions = regions(nodes, (node) => node.integer);
    this.region = 0; // the one that was jumped to
    const widest = Math.max(
      0,
      ...this.lanes.map((row) => Math.max(row.lane, ...row.past.map((line) => line.lane)))
    );
    this.laneWidth = Math.min(kLane.width, (kLane.most * kLane.width) / (widest + 1));
    this.drawingWidth = Math.ceil((widest + 1) * this.laneWidth + 10);
    this.body = element("tbody");
    this.scroller = element(
      "div",
      { class: "scroller", tabindex: 0, role: "region", "aria-label": "Table of operators" },
      element(
        "table",
        { class: "graph-table" },
        element(
          "colgroup",
          {},
          element("col", { class: "col-lanes" }),
          element("col", { class: "col-op" }),
          element("col"),
          element("col", { class: "col-runs" }),
          element("col", { class: "col-local" })
        ),
        element(
          "thead",
          {},
          element(
            "tr",
            { "aria-rowindex": 1 },
            ["Values", "Operator", "Name", "Runs", "Cumulative SQNR"].map((label) =>
              element("th", { scope: "col" }, label)
            )
          )
        ),
        this.body
      )
    );
    this.scroller.style.setProperty("--lanes-width", `${this.drawingWidth}px`);
  }

  show(place) {
    const floats = this.nodes.filter((node) => !node.integer).length;
    place.append(
      element(
        "div",
        { class: "filters" },
        element("p", { class: "quiet" }, this.summary(floats)),
        floats > 0 && floats < this.nodes.length
          ? [
              element("button", { type: "button", click: () => this.jump(-1) }, "Previous region"),
              element("button", { type: "button", click: () => this.jump(1) }, "Next region")
            ]
          : null
      ),
      element("div", { class: "graph" }, sideways(this.scroller), this.overview())
    );
    this.rows = new WindowedRows(this.scroller, this.body, (row) => this.row(row));
    this.rows.show(this.lanes);
  }

  summary(floats) {
    const all = plural(this.nodes.length, "operator");
    if (floats === 0 || floats === this.nodes.length) {
      return `${all}, all ${floats === 0 ? "on integers" : "in float"}.`;
    }
    return `${all}, ${count(this.nodes.length - floats)} on integers, ${count(floats)} in float; ${plural(this.regions.length, "region")}.`;
  }

  /** The whole graph in one narrow strip; a click shows what is there. */
  overview() {
    const size = this.nodes.length;
    const drawing = svg(
      "svg",
      {
        class: "overview",
        viewBox: `0 0 20 1000`,
        preserveAspectRatio: "none",
        "aria-hidden": "true",
        click: (event) => {
          const box = drawing.getBoundingClientRect();
          const index = Math.floor(((event.clientY - box.top) / box.height) * size);
          this.scroller.scrollTop = index * this.rows.rowHeight - this.scroller.clientHeight / 2;
        }
      },
      svg("defs", {}, hatching("hatch-float-overview", "hatch-float")),
      this.regions.flatMap((region) => {
        const box = {
          x: 0,
          width: 20,
          y: (1000 * region.first) / size,
          height: (1000 * (region.end - region.first)) / size
        };
        return regionRectangles(region, box, "hatch-float-overview", box.height < 8);
      })
    );
    const sight = svg("rect", { class: "sight", x: 1, width: 18, rx: 2 });
    drawing.append(sight);
    this.scroller.addEventListener(
      "scroll",
      () => {
        const all = this.scroller.scrollHeight || 1;
        sight.setAttribute("y", (1000 * this.scroller.scrollTop) / all);
        sight.setAttribute("height", (1000 * this.scroller.clientHeight) / all);
      },
      { passive: true }
    );
    return drawing;
  }

  /** To the next or previous region of a kind. */
  jump(direction) {
    const next = this.regions[this.region + direction];
    if (next === undefined) {
      announce("No more regions");
      return;
    }
    this.region += direction;
    this.scroller.scrollTop = next.first * this.rows.rowHeight;
    announce(
      `${plural(next.end - next.first, "operator")} ${next.integer ? "on integers" : "in float"} from ${this.nodes[next.first].name}`
    );
  }

  row(entry) {
    const { node, index } = entry;
    const layer = report.layers[node.layer];
    const runs = node.integer ? (layer?.runs_as ?? "on integers") : "float";
    const starts = index === 0 || Boolean(this.nodes[index - 1].integer) !== Boolean(node.integer);
    return element(
      "tr",
      { class: `${node.integer ? "on-integers" : "in-float"}${starts ? " starts" : ""}` },
      element("td", { class: "lanes" }, this.drawing(entry)),
      element("td", { title: node.op }, node.op),
      element("th", { scope: "row" }, rowButton(node.name, layer ? node.layer : null)),
      element("td", { title: runs }, runs),
      element("td", { class: "number" }, layer ? decibels(layer.cumulative) : "")
    );
  }

  drawing({ node, lane, into, past, continues }) {
    const x = (at) => 8 + at * this.laneWidth;
    const { height } = kLane;
    const middle = height / 2;
    const kind = (source) => (this.nodes[source].integer ? "value integer" : "value float");
    const lines = past.map((line) =>
      svg("line", { class: kind(line.source), x1: x(line.lane), x2: x(line.lane), y1: 0, y2: height })
    );
    for (const { lane: from, source } of into) {
      lines.push(
        svg("path", {
          class: kind(source),
          d: `M${x(from)} 0C${x(from)} ${middle * 0.8} ${x(lane)} ${middle * 0.2} ${x(lane)} ${middle}`
        })
      );
    }
    if (continues) {
      lines.push(
        svg("line", {
          class: node.integer ? "value integer" : "value float",
          x1: x(lane),
          x2: x(lane),
          y1: middle,
          y2: height
        })
      );
    }
    const mark = node.integer
      ? svg("rect", { class: "node integer", x: x(lane) - 5, y: middle - 5, width: 10, height: 10, rx: 1.5 })
      : svg("circle", { class: "node float", cx: x(lane), cy: middle, r: 5 });
    return svg("svg", { width: this.drawingWidth, height, "aria-hidden": "true" }, lines, mark);
  }
}

function showGraph() {
  const nodes = report.graph?.nodes ?? [];
  if (nodes.length === 0) {
    byId("graph").hidden = true;
    return [];
  }
  const view = new GraphView(nodes);
  view.show(byId("graph-body"));
  return [view.rows];
}
