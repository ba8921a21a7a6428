"use strict";
// SQNR along the depth of the network: points for local errors, a line for the
// error so far. The mouse and the arrow keys move one cursor over it.

const kPlot = { width: 1120, height: 340, left: 52, right: 16, top: 36, bottom: 44 };
/** Of more layers the line would be a zigzag, so it shows what neighbours have in common. */
const kMostPoints = 120;
/** Of a text in drawings, about. */
const kLetterWidth = 6.6;
/** Nobody needs to tell errors apart that are smaller, and those that matter get the room. */
const kMostDecibels = 80;

class DepthChart {
  constructor(layers) {
    this.layers = layers;
    this.at = -1;
    const values = layers.flatMap((layer) => [layer.local?.sqnr, layer.cumulative?.sqnr]).filter(isNumber);
    this.low = Math.min(0, 10 * Math.floor(Math.min(...values, 0) / 10));
    const best = Math.max(...values, 10);
    this.high = Math.min(10 * Math.ceil(best / 10), kMostDecibels);
    this.isCut = best > this.high;
    this.hasExact = layers.some((layer) => layer.local?.exact || layer.cumulative?.exact);
    this.neighbours = layers.length <= kMostPoints ? 1 : 2 * Math.ceil(layers.length / kMostPoints) + 5;
    this.names = this.placedNames();
    this.top = kPlot.top + 16 * Math.max(0, ...this.names.map((name) => name.row + 1));
    this.height = kPlot.height + this.top - kPlot.top;
    this.readout = element("p", { class: "readout" });
    this.cursor = svg(
      "g",
      { class: "cursor", visibility: "hidden" },
      svg("line", { y1: this.top, y2: this.height - kPlot.bottom + 14 }),
      svg("circle", { class: "local", r: 5 }),
      svg("circle", { class: "cumulative", r: 5 })
    );
    this.drawing = svg(
      "svg",
      { viewBox: `0 0 ${kPlot.width} ${this.height}`, "aria-hidden": "true" },
      svg("defs", {}, hatching("hatch-float-strip", "hatch-float")),
      this.axes(),
      this.strip(),
      this.line(),
      this.dots(),
      this.labels(),
      this.cursor
    );
    this.slider = element(
      "div",
      {
        class: "chart",
        tabindex: 0,
        role: "slider",
        "aria-label": "Layer on the chart of errors by depth",
        "aria-valuemin": 1,
        "aria-valuemax": layers.length,
        "aria-valuenow": 1,
        "aria-valuetext": this.textOf(0),
        keydown: (event) => this.key(event),
        focus: () => this.moveTo(Math.max(0, this.at)),
        pointermove: (event) => this.moveTo(this.indexAt(event)),
        click: (event) => openLayer(this.indexAt(event))
      },
      this.drawing
    );
  }

  element() {
    return element("figure", { class: "depth-chart" }, this.legend(), sideways(this.slider), this.readout);
  }

  x(index) {
    const room = kPlot.width - kPlot.left - kPlot.right;
    return kPlot.left + (room * (index + 0.5)) / this.layers.length;
  }

  y(error) {
    const value = sqnrOf(error);
    const room = this.height - this.top - kPlot.bottom;
    return value === Infinity
      ? this.top - 20
      : this.top + (room * (this.high - Math.min(value, this.high))) / (this.high - this.low);
  }

  indexAt(event) {
    const box = this.drawing.getBoundingClientRect();
    const x = ((event.clientX - box.left) * kPlot.width) / box.width;
    const index = Math.floor(
      ((x - kPlot.left) / (kPlot.width - kPlot.left - kPlot.right)) * this.layers.length
    );
    return Math.max(0, Math.min(this.layers.length - 1, index));
  }

  axes() {
    const step = this.high - this.low > kMostDecibels ? 20 : 10;
    const marks = [];
    for (let value = this.low; value <= this.high; value += step) {
      const y = this.y({ sqnr: value });
      marks.push(
        svg("line", { class: "grid", x1: kPlot.left, x2: kPlot.width - kPlot.right, y1: y, y2: y }),
        svg("text", { x: kPlot.left - 8, y: y + 4, "text-anchor": "end" }, this.markOf(value))
      );
    }
    if (this.hasExact) {
      marks.push(svg("text", { x: kPlot.left - 8, y: this.top - 16, "text-anchor": "end" }, "exact"));
    }
    return svg(
      "g",
      { class: "axis" },
      marks,
      svg("text", { x: 0, y: this.height - kPlot.bottom + 4 }, "dB"),
      svg("text", { x: kPlot.left, y: this.height - 4 }, "input"),
      svg("text", { x: kPlot.width - kPlot.right, y: this.height - 4, "text-anchor": "end" }, "output")
    );
  }

  markOf(value) {
    return (this.isCut && value === this.high ? "≥ " : "") + fixed(value, 0);
  }

  /** Below the axis: which layers run on integers. */
  strip() {
    const y = this.height - kPlot.bottom + 8;
    const half = this.x(0.5) - this.x(0);
    const rectangles = regions(this.layers, isInteger).flatMap((region) => {
      const box = {
        x: this.x(region.first) - half,
        width: this.x(region.end) - this.x(region.first),
        y,
        height: 12
      };
      return regionRectangles(region, box, "hatch-float-strip", box.width < 8);
    });
    return svg("g", { class: "strip" }, rectangles);
  }

  /** Cumulative errors as points of the drawing. */
  cumulativePoints() {
    return this.layers.flatMap((layer, index) =>
      sqnrOf(layer.cumulative) === null ? [] : [{ x: this.x(index), y: this.y(layer.cumulative) }]
    );
  }

  line() {
    const points = this.cumulativePoints();
    const path = (some) => some.map(({ x, y }) => `${x.toFixed(1)} ${y.toFixed(1)}`).join("L");
    if (this.neighbours === 1 || points.length === 0) {
      return svg("path", { class: "cumulative-line", d: points.length > 0 ? `M${path(points)}` : "" });
    }
    const around = points.map(({ x }, at) => {
      const first = Math.max(0, at - (this.neighbours - 1) / 2);
      const heights = points.slice(first, at + (this.neighbours + 1) / 2).map((point) => point.y);
      heights.sort((a, b) => a - b);
      return { x, high: heights[0], middle: heights[heights.length >> 1], low: heights.at(-1) };
    });
    const along = (part) => around.map((each) => ({ x: each.x, y: each[part] }));
    return [
      svg("path", { class: "cumulative-band", d: `M${path([...along("high"), ...along("low").reverse()])}Z` }),
      svg("path", { class: "cumulative-line", d: `M${path(along("middle"))}` })
    ];
  }

  /** One path whatever the number of layers: strokes of no length end in round dots. */
  dots() {
    const known = this.layers
      .map((layer, index) => ({ layer, index }))
      .filter(({ layer }) => sqnrOf(layer.local) !== null);
    const path = known.map(
      ({ layer, index }) => `M${this.x(index).toFixed(1)} ${this.y(layer.local).toFixed(1)}h0`
    );
    return svg("path", {
      class: this.layers.length > 300 ? "local-dots dense" : "local-dots",
      d: path.join("")
    });
  }

  /** Names of the layers of largest local error, for rows above the plot, where no line crosses them. */
  placedNames() {
    const worst = this.layers
      .map((layer, index) => ({ layer, index }))
      .filter(({ layer }) => isNumber(layer.local?.sqnr))
      .sort((a, b) => a.layer.local.sqnr - b.layer.local.sqnr)
      .slice(0, 3);
    const placed = [];
    for (const { layer, index } of worst) {
      const text = shortened(layer.name, 28);
      const width = kLetterWidth * text.length;
      const x = this.x(index);
      const start = Math.max(kPlot.left, Math.min(x - width / 2, kPlot.width - kPlot.right - width));
      const overlaps = (other) => other.start < start + width + 12 && start < other.start + other.width + 12;
      let row = 0;
      while (placed.some((other) => other.row === row && overlaps(other))) {
        ++row;
      }
      placed.push({ layer, text, x, start, width, row });
    }
    return placed;
  }

  labels() {
    const foot = ({ row }) => this.top - 32 - 16 * row;
    return svg(
      "g",
      { class: "labels" },
      this.names.map((name) =>
        svg("line", { x1: name.x, x2: name.x, y1: foot(name) + 4, y2: this.y(name.layer.local) - 6 })
      ),
      this.names.map((name) =>
        svg("text", { x: name.start + name.width / 2, y: foot(name), "text-anchor": "middle" }, name.text)
      )
    );
  }

  legend() {
    return element(
      "figcaption",
      { class: "legend" },
      element("span", {}, element("i", { class: "key-dot" }), "local"),
      element("span", {}, element("i", { class: "key-line" }), this.cumulativeInWords()),
      element("span", {}, element("i", { class: "key-integer" }), "runs on integers"),
      element("span", {}, element("i", { class: "key-float" }), "runs in float")
    );
  }

  cumulativeInWords() {
    return this.neighbours === 1
      ? "cumulative"
      : `cumulative: median and range of ${this.neighbours} neighbouring layers`;
  }

  textOf(index) {
    const layer = this.layers[index];
    return `${layer.name}, ${layer.op}, ${runsAs(layer)}: local ${decibels(layer.local)}, cumulative ${decibels(layer.cumulative)}`;
  }

  moveTo(index) {
    const layer = this.layers[index];
    this.at = index;
    this.cursor.setAttribute("visibility", "visible");
    const [line, local, cumulative] = this.cursor.children;
    line.setAttribute("x1", this.x(index));
    line.setAttribute("x2", this.x(index));
    for (const [mark, error] of [
      [local, layer.local],
      [cumulative, layer.cumulative]
    ]) {
      mark.setAttribute("visibility", sqnrOf(error) === null ? "hidden" : "inherit");
      if (sqnrOf(error) !== null) {
        mark.setAttribute("cx", this.x(index));
        mark.setAttribute("cy", this.y(error));
      }
    }
    this.readout.replaceChildren(
      element("b", { class: "name" }, layer.name),
      ` ${layer.op}, ${runsAs(layer)} · local `,
      element("b", {}, decibels(layer.local)),
      " · cumulative ",
      element("b", {}, decibels(layer.cumulative))
    );
    this.slider.setAttribute("aria-valuenow", index + 1);
    this.slider.setAttribute("aria-valuetext", this.textOf(index));
  }

  key(event) {
    const steps = {
      ArrowRight: 1,
      ArrowUp: 1,
      ArrowLeft: -1,
      ArrowDown: -1,
      PageUp: 10,
      PageDown: -10,
      Home: -Infinity,
      End: Infinity
    };
    if (event.key === "Enter" || event.key === " ") {
      event.preventDefault();
      openLayer(Math.max(0, this.at));
    } else if (steps[event.key] !== undefined) {
      event.preventDefault();
      this.moveTo(Math.max(0, Math.min(this.layers.length - 1, this.at + steps[event.key])));
    }
  }
}

function showDepthChart() {
  if (report.layers.length === 0) {
    byId("depth").hidden = true;
    return;
  }
  const chart = new DepthChart(report.layers);
  byId("depth-chart").append(chart.element());
  chart.readout.textContent = "Point at a layer, or move with the arrow keys; click or Enter opens it.";
}
