"use strict";
// Rows of a table of which only those in sight exist, so that 2,000 take no longer to show than 50.
// All rows are equally high. Arrow keys, Home, End and the page keys move among the rows' buttons.

class WindowedRows {
  /**
   * scroller: the element that scrolls and holds the table; body: its tbody;
   * makeRow(item, index): a tr with a button.
   */
  constructor(scroller, body, makeRow) {
    this.scroller = scroller;
    this.body = body;
    this.makeRow = makeRow;
    this.items = [];
    this.rows = new Map();
    this.before = this.spacer();
    this.after = this.spacer();
    body.replaceChildren(this.before, this.after);
    this.rowHeight = 0;
    this.all = false;
    scroller.addEventListener("scroll", () => this.update(), { passive: true });
    new ResizeObserver(() => this.update()).observe(scroller);
    body.addEventListener("keydown", (event) => this.move(event));
  }

  spacer() {
    return element("tr", { class: "spacer", "aria-hidden": "true" }, element("td", {}));
  }

  /** Shows other items, from the first on. */
  show(items) {
    this.items = items;
    for (const row of this.rows.values()) {
      row.remove();
    }
    this.rows.clear();
    this.scroller.scrollTop = 0;
    this.body.parentElement.setAttribute("aria-rowcount", items.length + 1);
    this.update();
  }

  /** All rows while a page is printed, which cannot be scrolled. */
  showAll(all) {
    this.all = all;
    this.update();
  }

  /** The rows [first, end) that shall exist. */
  span() {
    if (this.all) {
      return [0, this.items.length];
    }
    if (this.rowHeight === 0) {
      return [0, Math.min(1, this.items.length)];
    }
    const spare = 8;
    const first = Math.floor(this.scroller.scrollTop / this.rowHeight) - spare;
    const seen = Math.ceil(this.scroller.clientHeight / this.rowHeight) + 2 * spare;
    return [
      Math.max(0, Math.min(first, this.items.length - seen)),
      Math.min(this.items.length, Math.max(0, first) + seen)
    ];
  }

  update() {
    this.fill(...this.span());
    if (this.rowHeight === 0 && this.rows.size > 0) {
      this.rowHeight = this.rows.get(0).getBoundingClientRect().height;
      if (this.rowHeight > 0) {
        this.scroller.style.setProperty("--rows-height", `${this.rowHeight * this.items.length}px`);
        this.fill(...this.span());
      }
    }
  }

  fill(first, end) {
    for (const [index, row] of this.rows) {
      if (index < first || index >= end) {
        if (row.contains(document.activeElement)) {
          this.scroller.focus({ preventScroll: true });
        }
        row.remove();
        this.rows.delete(index);
      }
    }
    let next = this.after;
    for (let index = end - 1; index >= first; --index) {
      let row = this.rows.get(index);
      if (row === undefined) {
        row = this.makeRow(this.items[index], index);
        row.setAttribute("aria-rowindex", index + 2);
        row.dataset.index = index;
        this.rows.set(index, row);
        next.before(row);
      }
      next = row;
    }
    this.before.style.height = `${first * this.rowHeight}px`;
    this.after.style.height = `${(this.items.length - end) * this.rowHeight}px`;
  }

  /** Brings a row into sight, and the keyboard to it. */
  focus(index) {
    this.reveal(index);
    this.rows.get(index).querySelector("button").focus({ preventScroll: true });
  }

  reveal(index) {
    const top = index * this.rowHeight;
    const room = this.scroller.clientHeight - this.body.offsetTop;
    if (top < this.scroller.scrollTop) {
      this.scroller.scrollTop = top;
    } else if (top + this.rowHeight > this.scroller.scrollTop + room) {
      this.scroller.scrollTop = top + this.rowHeight - room;
    }
    this.update();
  }

  move(event) {
    const page = Math.max(1, Math.floor(this.scroller.clientHeight / (this.rowHeight || 1)) - 2);
    const steps = {
      ArrowDown: 1,
      ArrowUp: -1,
      PageDown: page,
      PageUp: -page,
      Home: -Infinity,
      End: Infinity
    };
    const step = steps[event.key];
    if (step === undefined || event.ctrlKey || event.altKey || event.metaKey) {
      return;
    }
    event.preventDefault();
    const at = Number(event.target.closest("tr").dataset.index);
    this.focus(Math.max(0, Math.min(this.items.length - 1, at + step)));
  }
}

/** The button of a row: opens a layer, or nothing for null. Long names lose their beginning, as their ends tell more. */
function rowButton(name, layerIndex) {
  const isLink = layerIndex !== null;
  return element(
    "button",
    {
      type: "button",
      class: "link name",
      title: name,
      "aria-disabled": isLink ? null : "true",
      click: () => isLink && openLayer(layerIndex)
    },
    element("bdi", {}, name)
  );
}
