"use strict";
// The table of layers: sorted by any column, narrowed down by the fields above it.

const kColumns = [
  {
    key: "depth",
    label: "#",
    title: "Place in the order of execution",
    value: (layer, index) => index,
    text: (layer, index) => count(index + 1)
  },
  { key: "name", label: "Layer", words: true, value: (layer) => layer.name },
  { key: "op", label: "Operator", words: true, value: (layer) => layer.op, text: (layer) => layer.op },
  { key: "runs_as", label: "Runs as", words: true, value: runsAs, text: runsAs },
  {
    key: "local",
    label: "Local",
    unit: "SQNR",
    title: "Error of this layer alone",
    value: (layer) => sqnrOf(layer.local),
    text: (layer) => decibels(layer.local),
    bar: true
  },
  {
    key: "cumulative",
    label: "Cumulative",
    unit: "SQNR",
    title: "Error of all layers so far",
    value: (layer) => sqnrOf(layer.cumulative),
    text: (layer) => decibels(layer.cumulative),
    bar: true
  },
  {
    key: "saturated",
    label: "Saturated",
    unit: "share",
    title: "Values outside the calibrated range",
    value: (layer) => saturation(resultPoint(layer)),
    text: (layer) => share(saturation(resultPoint(layer)))
  },
  {
    key: "range_use",
    label: "Range use",
    unit: "share",
    title: "Integers that occur",
    value: (layer) => rangeUse(resultPoint(layer)),
    text: (layer) => share(rangeUse(resultPoint(layer)))
  },
  {
    key: "bits",
    label: "Effective",
    unit: "bits",
    title: "How many bits the integers of the result carry",
    value: (layer) => resultPoint(layer)?.effective_bits ?? null,
    text: (layer) => fixed(resultPoint(layer)?.effective_bits, 1)
  },
  {
    key: "weight",
    label: "Weights",
    unit: "SQNR",
    title: "Error of rounding the weights",
    value: (layer) => layer.weight?.sqnr ?? null,
    text: (layer) => (isNumber(layer.weight?.sqnr) ? `${fixed(layer.weight.sqnr, 1)} dB` : kNone)
  },
  {
    key: "accumulator",
    label: "Sums",
    unit: "bits",
    title: "Accumulator bits observed on the samples",
    value: (layer) => layer.accumulator?.bits_observed ?? null,
    text: (layer) => count(layer.accumulator?.bits_observed)
  },
  {
    key: "macs",
    label: "Work",
    unit: "MACs",
    title: "Multiplications for one sample",
    value: (layer) => layer.macs || null,
    text: (layer) => amount(layer.macs || null)
  }
];

/** conv2 before conv10. */
const kWordOrder = new Intl.Collator("en", { numeric: true });

class LayerTable {
  constructor() {
    this.sorted = { key: "depth", descending: false };
    this.entries = report.layers.map((layer, index) => ({
      layer,
      index,
      words: `${layer.name} ${layer.op} ${runsAs(layer)}`.toLowerCase()
    }));
    const best = Math.max(
      ...report.layers.flatMap((layer) => [layer.local?.sqnr, layer.cumulative?.sqnr]).filter(isNumber),
      1
    );
    this.barLength = (value) =>
      isNumber(value) ? Math.max(0, Math.min(1, value / best)) : value === Infinity ? 1 : 0;
    this.headers = kColumns.map((column) => this.header(column));
    this.body = element("tbody");
    this.scroller = element(
      "div",
      { class: "scroller", tabindex: 0, role: "region", "aria-label": "Table of layers" },
      element(
        "table",
        { class: "layer-table" },
        element(
          "colgroup",
          {},
          kColumns.map((column) => element("col", { class: `col-${column.key}` }))
        ),
        element("thead", {}, element("tr", { "aria-rowindex": 1 }, this.headers)),
        this.body
      )
    );
    this.status = element("p", { class: "quiet", role: "status" });
  }

  header(column) {
    return element(
      "th",
      {
        scope: "col",
        class: column.words ? null : "number",
        "aria-sort": column.key === this.sorted.key ? "ascending" : "none"
      },
      element(
        "button",
        { type: "button", title: column.title, click: () => this.sortBy(column.key) },
        column.label,
        element("span", { class: "direction", "aria-hidden": "true" }),
        column.unit ? element("small", {}, ` ${column.unit}`) : null
      )
    );
  }

  filters() {
    this.search = element("input", { type: "search", input: () => this.refresh() });
    const ops = [...new Set(report.layers.map((layer) => layer.op))].sort();
    this.op = element(
      "select",
      { change: () => this.refresh() },
      element("option", { value: "" }, "all"),
      ops.map((op) => element("option", {}, op))
    );
    this.kind = element(
      "select",
      { change: () => this.refresh() },
      element("option", { value: "" }, "all"),
      element("option", { value: "integer" }, "on integers"),
      element("option", { value: "float" }, "in float"),
      element("option", { value: "finding" }, "with a diagnosis")
    );
    this.below = element("input", { type: "number", step: 1, input: () => this.refresh() });
    return element(
      "form",
      {
        class: "filters",
        role: "search",
        "aria-label": "Filter layers",
        submit: (event) => event.preventDefault()
      },
      element("label", {}, "Name ", this.search),
      element("label", {}, "Operator ", this.op),
      element("label", {}, "Show ", this.kind),
      element("label", {}, "Local SQNR below ", this.below, " dB"),
      element("button", { type: "reset", click: () => setTimeout(() => this.refresh()) }, "Reset")
    );
  }

  show(place) {
    place.append(this.filters(), this.status, sideways(this.scroller));
    this.rows = new WindowedRows(this.scroller, this.body, (entry) => this.row(entry));
    this.refresh();
  }

  passes({ layer, words }) {
    const text = this.search.value.trim().toLowerCase();
    const kind = this.kind.value;
    const below = this.below.valueAsNumber;
    const local = sqnrOf(layer.local);
    return (
      words.includes(text) &&
      (this.op.value === "" || layer.op === this.op.value) &&
      (kind === "" ||
        (kind === "finding" ? findings.has(layer.name) : isInteger(layer) === (kind === "integer"))) &&
      (Number.isNaN(below) || (local !== null && local < below))
    );
  }

  refresh() {
    const { key, descending } = this.sorted;
    const column = kColumns.find((candidate) => candidate.key === key);
    const shown = this.entries
      .filter((entry) => this.passes(entry))
      .map((entry) => ({ ...entry, value: column.value(entry.layer, entry.index) }))
      .sort((a, b) => this.compare(a.value, b.value, descending) || a.index - b.index);
    this.rows.show(shown);
    this.status.textContent =
      shown.length === this.entries.length
        ? plural(shown.length, "layer")
        : `${count(shown.length)} of ${plural(this.entries.length, "layer")}`;
  }

  /** What is not known stands last in either direction. */
  compare(a, b, descending) {
    if (a === null || b === null) {
      return (a === null) - (b === null);
    }
    const order =
      typeof a === "string" ? kWordOrder.compare(a, b) : a === b ? 0 : a < b ? -1 : 1;
    return descending ? -order : order;
  }

  sortBy(key) {
    this.sorted = { key, descending: this.sorted.key === key && !this.sorted.descending };
    kColumns.forEach((column, i) => {
      const state = column.key !== key ? "none" : this.sorted.descending ? "descending" : "ascending";
      this.headers[i].setAttribute("aria-sort", state);
    });
    this.refresh();
    const label = kColumns.find((column) => column.key === key).label;
    announce(`Sorted by ${label}, ${this.sorted.descending ? "descending" : "ascending"}`);
  }

  row({ layer, index }) {
    return element(
      "tr",
      { class: isInteger(layer) ? null : "in-float" },
      kColumns.map((column) => {
        if (column.key === "name") {
          const found = findings.get(layer.name);
          return element(
            "th",
            { scope: "row" },
            rowButton(layer.name, index),
            found
              ? element(
                  "span",
                  {
                    class: "flag",
                    role: "img",
                    "aria-label": "in the diagnosis",
                    title: found.map((finding) => kindInWords(finding.kind)).join("; ")
                  },
                  "◆"
                )
              : null
          );
        }
        const text = column.text(layer, index);
        const cell = element(
          "td",
          column.words ? { title: text } : { class: "number" }, // words may be cut off
          text
        );
        if (column.bar) {
          cell.classList.add("bar");
          cell.style.setProperty("--length", this.barLength(column.value(layer)));
        }
        return cell;
      })
    );
  }
}

function showLayerTable() {
  const table = new LayerTable();
  table.show(byId("layer-table"));
  return table.rows;
}
