"use strict";
// Text for numbers. A number that is null is not defined or not known.

const kNone = "–";

function isNumber(value) {
  return typeof value === "number" && Number.isFinite(value);
}

/** With the minus sign that is as wide as a plus, and thousands apart. */
function fixed(value, digits) {
  if (!isNumber(value)) {
    return kNone;
  }
  const text = value.toLocaleString("en-US", {
    minimumFractionDigits: digits,
    maximumFractionDigits: digits
  });
  return /^-[0.,]*$/.test(text) ? text.slice(1) : text.replace("-", "−");
}

function count(value) {
  return fixed(value, 0);
}

function plural(number, word) {
  return `${count(number)} ${word}${number === 1 ? "" : "s"}`;
}

/** `digits` significant ones; powers of ten for what is very large or small. */
function significant(value, digits = 3) {
  if (!isNumber(value)) {
    return kNone;
  }
  if (value === 0) {
    return "0";
  }
  const exponent = Math.floor(Math.log10(Math.abs(value)));
  if (exponent < -4 || exponent > 6) {
    const [factor, power] = value.toExponential(digits - 1).split("e");
    const raised = String(Number(power)).replace(
      /./g,
      (sign) => "⁰¹²³⁴⁵⁶⁷⁸⁹"["0123456789".indexOf(sign)] ?? "⁻"
    );
    return `${factor.replace("-", "−")} × 10${raised}`;
  }
  return fixed(value, Math.max(0, digits - 1 - exponent));
}

/** Not to be torn apart at the end of a line. */
function range(low, high) {
  return isNumber(low) && isNumber(high) ? `${significant(low)}\u00a0…\u00a0${significant(high)}` : kNone;
}

/** Of an ERROR of the report. */
function decibels(error) {
  if (error?.exact) {
    return "exact";
  }
  return isNumber(error?.sqnr) ? `${fixed(error.sqnr, 1)} dB` : kNone;
}

/** Orders errors: exact results are better than any other. Null where nothing is known. */
function sqnrOf(error) {
  if (error?.exact) {
    return Infinity;
  }
  return isNumber(error?.sqnr) ? error.sqnr : null;
}

/** `value` is in percent. As many digits as tell it from 0 and from 100, at most three. */
function percent(value) {
  if (!isNumber(value)) {
    return kNone;
  }
  const toEnd = Math.min(Math.abs(value), Math.abs(100 - value));
  if (value === 0 || value === 100) {
    return `${value} %`;
  }
  if (toEnd < 0.001) {
    return value < 50 ? "< 0.001 %" : "> 99.999 %";
  }
  return `${fixed(value, toEnd < 0.01 ? 3 : toEnd < 0.1 ? 2 : 1)} %`;
}

/** `value` is between 0 and 1. */
function share(value) {
  return isNumber(value) ? percent(100 * value) : kNone;
}

function scaled(value, units) {
  if (!isNumber(value)) {
    return kNone;
  }
  let unit = 0;
  while (value >= 999.5 && unit + 1 < units.length) {
    value /= 1000;
    ++unit;
  }
  return `${unit === 0 ? count(value) : significant(value)} ${units[unit]}`.trimEnd();
}

function bytes(value) {
  return scaled(value, ["B", "kB", "MB", "GB", "TB"]);
}

/** A number of operations. */
function amount(value) {
  return scaled(value, ["", "k", "M", "G", "T"]);
}

/** The end of a long name tells more than its beginning. */
function shortened(name, longest) {
  return name.length <= longest ? name : `…${name.slice(name.length - longest + 1)}`;
}

function capitalized(text) {
  return text.slice(0, 1).toUpperCase() + text.slice(1);
}

/** Reports hold their texts as messages are written: without a capital and a full stop. */
function sentence(text) {
  return text ? capitalized(text) + (/[.!?]$/.test(text) ? "" : ".") : "";
}
