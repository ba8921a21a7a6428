"use strict";
// Elements are made from their parts. All text goes in as text, never as markup: names come from
// files of anyone.

function filled(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") {
      node.addEventListener(name, value);
    } else if (value !== undefined && value !== null && value !== false) {
      node.setAttribute(name, value === true ? "" : value);
    }
  }
  node.append(...children.flat(3).filter((child) => child !== null && child !== undefined));
  return node;
}

/** Attributes that are functions listen to the event of that name. */
function element(tag, attributes = {}, ...children) {
  return filled(document.createElement(tag), attributes, children);
}

function svg(tag, attributes = {}, ...children) {
  return filled(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);
}

function byId(id) {
  return document.getElementById(id);
}

/** Says something to readers of the screen that others see happen. */
function announce(text) {
  byId("announcer").textContent = text;
}

/** A term and its value in a list of facts; nothing when there is no value. */
function fact(term, value, note) {
  if (value === null || value === undefined || value === kNone) {
    return null;
  }
  return element(
    "div",
    {},
    element("dt", {}, term),
    element("dd", {}, value, note ? element("span", { class: "quiet" }, `, ${note}`) : null)
  );
}

/** A table of few rows. Each column: {label, number: whether it is one}; rows are lists of cells. */
function smallTable(caption, columns, rows) {
  return element(
    "table",
    { class: "small-table" },
    element("caption", {}, caption),
    element(
      "thead",
      {},
      element(
        "tr",
        {},
        columns.map((column) =>
          element("th", { scope: "col", class: column.number ? "number" : null }, column.label)
        )
      )
    ),
    element(
      "tbody",
      {},
      rows.map((cells) =>
        element(
          "tr",
          {},
          cells.map((cell, i) =>
            element(
              i === 0 ? "th" : "td",
              {
                scope: i === 0 ? "row" : null,
                class: columns[i].number ? "number" : null
              },
              cell
            )
          )
        )
      )
    )
  );
}

/** Frames what may scroll sideways: where there is more of it, a shade says so. */
function sideways(scroller) {
  const frame = element("div", { class: "sideways" }, scroller);
  const update = () => {
    const room = scroller.scrollWidth - scroller.clientWidth;
    frame.classList.toggle("more-left", scroller.scrollLeft > 1);
    frame.classList.toggle("more-right", scroller.scrollLeft < room - 1);
  };
  scroller.addEventListener("scroll", update, { passive: true });
  const observer = new ResizeObserver(update);
  observer.observe(scroller);
  observer.observe(scroller.firstElementChild);
  return frame;
}

/** A hatching that says float, or clipped, without colour; a drawing that uses it holds it. */
function hatching(id, className) {
  return svg(
    "pattern",
    {
      id,
      class: className,
      width: 6,
      height: 6,
      patternUnits: "userSpaceOnUse",
      patternTransform: "rotate(45)"
    },
    svg("line", { x1: 0, y1: 0, x2: 0, y2: 6 })
  );
}

/**
 * Neighbouring entries of a kind, as {first, end, integer}; `isInteger(entry)` says which kind.
 */
function regions(entries, isInteger) {
  const found = [];
  entries.forEach((entry, index) => {
    const integer = Boolean(isInteger(entry));
    if (found.at(-1)?.integer === integer) {
      found.at(-1).end = index + 1;
    } else {
      found.push({ first: index, end: index + 1, integer });
    }
  });
  return found;
}

/** A region in a drawing: tinted on integers, hatched in float, or filled where hatches would not be seen. */
function regionRectangles(region, box, hatch, isNarrow) {
  if (region.integer || isNarrow) {
    return [svg("rect", { ...box, class: region.integer ? "on-integers" : "in-float narrow" })];
  }
  return [svg("rect", { ...box, class: "in-float" }), svg("rect", { ...box, fill: `url(#${hatch})` })];
}
