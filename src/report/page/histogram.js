"use strict";
// How often a point's values occur, and the calibrated range, and those of other calibrators.

const kHistogram = { width: 720, left: 110, right: 16, bars: 150, rowHeight: 18 };

class Histogram {
  constructor(point) {
    this.point = point;
    this.ranges = [
      {
        name: point.calibrator ?? "calibrated",
        low: point.calibrated?.[0],
        high: point.calibrated?.[1],
        calibrated: true
      },
      ...(point.alternatives ?? []).filter((other) => other.name !== point.calibrator)
    ].filter((candidate) => isNumber(candidate.low) && isNumber(candidate.high));
    const { low, high } = point.histogram;
    const ends = [low, high, ...this.ranges.flatMap((candidate) => [candidate.low, candidate.high])];
    this.low = Math.min(...ends);
    this.high = Math.max(...ends);
    if (this.low === this.high) {
      this.high = this.low + 1;
    }
  }

  x(value) {
    return (
      kHistogram.left +
      ((kHistogram.width - kHistogram.left - kHistogram.right) * (value - this.low)) / (this.high - this.low)
    );
  }

  /** Counts differ by powers of ten: heights are logarithms, so that tails can be seen. isShown(from, to) picks bars. */
  bars(isShown) {
    const { low, high, counts } = this.point.histogram;
    const tallest = Math.log1p(Math.max(...counts, 1));
    const step = (high - low) / counts.length;
    return counts
      .map((number, i) => {
        const from = low + i * step;
        if (number === 0 || !isShown(from, from + step)) {
          return "";
        }
        const top = kHistogram.bars * (1 - Math.max(0.02, Math.log1p(number) / tallest)) + 10;
        const right = Math.max(this.x(from + step), this.x(from) + 0.8);
        return `M${this.x(from).toFixed(1)} ${kHistogram.bars + 10}V${top.toFixed(1)}H${right.toFixed(1)}V${kHistogram.bars + 10}z`;
      })
      .join("");
  }

  element() {
    const base = kHistogram.bars + 10;
    const calibrated = this.ranges.find((candidate) => candidate.calibrated);
    const isInside = (from, to) => !calibrated || (to > calibrated.low && from < calibrated.high);
    const hatch = `hatch-${identifier()}`;
    const parts = [svg("defs", {}, hatching(hatch, "hatch-clipped"))];
    if (calibrated) {
      parts.push(
        svg("rect", {
          class: "calibrated-range",
          x: this.x(calibrated.low),
          width: this.x(calibrated.high) - this.x(calibrated.low),
          y: 10,
          height: kHistogram.bars
        })
      );
    }
    const clipped = this.bars((from, to) => !isInside(from, to));
    parts.push(
      svg("path", { class: "bars", d: this.bars(isInside) }),
      svg("path", { class: "bars clipped", d: clipped }),
      svg("path", { d: clipped, fill: `url(#${hatch})` }),
      svg("line", {
        class: "base",
        x1: kHistogram.left,
        x2: kHistogram.width - kHistogram.right,
        y1: base,
        y2: base
      }),
      svg("text", { x: kHistogram.left - 10, y: 20, "text-anchor": "end" }, "count (log)")
    );
    this.ranges.forEach((candidate, i) =>
      parts.push(...this.rangeRow(candidate, base + 36 + i * kHistogram.rowHeight))
    );
    const height = base + 32 + this.ranges.length * kHistogram.rowHeight;
    return svg(
      "svg",
      {
        class: "histogram",
        viewBox: `0 0 ${kHistogram.width} ${height}`,
        role: "img",
        "aria-label": this.inWords(calibrated)
      },
      parts,
      this.ticks(base)
    );
  }

  rangeRow({ name, low, high, calibrated }, y) {
    return [
      svg(
        "text",
        { class: calibrated ? "calibrated" : null, x: kHistogram.left - 10, y: y + 4, "text-anchor": "end" },
        shortened(name, 14)
      ),
      svg("path", {
        class: calibrated ? "range calibrated" : "range",
        d: `M${this.x(low)} ${y - 4}v8m0 -4H${this.x(high)}m0 -4v8`
      })
    ];
  }

  ticks(base) {
    const texts = [];
    const taken = [];
    for (const value of [0, this.low, this.high]) {
      const x = this.x(value);
      if (value < this.low || value > this.high || taken.some((other) => Math.abs(other - x) < 40)) {
        continue;
      }
      taken.push(x);
      const anchor = value === this.low ? "start" : value === this.high ? "end" : "middle";
      texts.push(
        svg("line", { class: "base", x1: x, x2: x, y1: base, y2: base + 5 }),
        svg("text", { x, y: base + 18, "text-anchor": anchor }, significant(value))
      );
    }
    return texts;
  }

  inWords(calibrated) {
    const { low, high } = this.point.histogram;
    const clipped = saturation(this.point);
    return (
      `Histogram of ${this.point.name} from ${range(low, high)}` +
      (calibrated ? `; calibrated range ${range(calibrated.low, calibrated.high)}` : "") +
      (isNumber(clipped) ? `, ${share(clipped)} outside` : "")
    );
  }
}

let identifiers = 0;
/** Patterns are found by names that are unique in the page. */
function identifier() {
  return ++identifiers;
}
