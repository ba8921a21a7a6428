"use strict";
// The ranges of a layer's weights, channel by channel, and what rounding them costs.

const kChannels = { width: 720, left: 60, right: 16, ranges: 130, gap: 26, errors: 70 };

function channelPlot(weight) {
  const channels = weight.channels;
  const room = kChannels.width - kChannels.left - kChannels.right;
  const x = (index) => kChannels.left + (room * (index + 0.5)) / channels.length;
  const width = Math.max(0.7, Math.min(14, (0.7 * room) / channels.length));

  const lows = channels.map((channel) => channel.low).filter(isNumber);
  const highs = channels.map((channel) => channel.high).filter(isNumber);
  const low = Math.min(0, ...lows);
  const high = Math.max(0, ...highs);
  const y = (value) => 12 + (kChannels.ranges * (high - value)) / (high - low || 1);
  const bars = channels
    .map((channel, i) =>
      isNumber(channel.low) && isNumber(channel.high)
        ? `M${x(i).toFixed(1)} ${y(channel.low).toFixed(1)}V${Math.min(y(channel.high), y(channel.low) - 0.8).toFixed(1)}`
        : ""
    )
    .join("");

  const errors = channels.map((channel) => channel.sqnr).filter(isNumber);
  const best = 10 * Math.ceil(Math.max(10, ...errors) / 10);
  const worst = Math.min(0, 10 * Math.floor(Math.min(0, ...errors) / 10));
  const top = 12 + kChannels.ranges + kChannels.gap;
  const errorY = (value) => top + (kChannels.errors * (best - value)) / (best - worst);
  const dots = channels
    .map((channel, i) =>
      isNumber(channel.sqnr) ? `M${x(i).toFixed(1)} ${errorY(channel.sqnr).toFixed(1)}h0` : ""
    )
    .join("");

  const end = kChannels.width - kChannels.right;
  const mark = (value, at, text) => [
    svg("line", { class: "grid", x1: kChannels.left, x2: end, y1: at, y2: at }),
    svg("text", { x: kChannels.left - 8, y: at + 4, "text-anchor": "end" }, text)
  ];
  return svg(
    "svg",
    {
      class: "channels",
      viewBox: `0 0 ${kChannels.width} ${top + kChannels.errors + 24}`,
      role: "img",
      "aria-label": `Ranges of ${plural(channels.length, "channel")} between ${range(low, high)}; SQNR between ${significant(
        Math.min(...errors)
      )} and ${significant(Math.max(...errors))} dB`
    },
    [
      mark(high, y(high), significant(high)),
      high > 0 && low < 0 ? mark(0, y(0), "0") : [],
      mark(low, y(low), significant(low)),
      svg("path", { class: "channel-bars", d: bars, "stroke-width": width }),
      mark(best, errorY(best), `${best} dB`),
      mark(worst, errorY(worst), `${worst} dB`),
      svg("path", { class: channels.length > 200 ? "local-dots dense" : "local-dots", d: dots }),
      svg("text", { x: kChannels.left, y: top + kChannels.errors + 20 }, "channel 0"),
      svg(
        "text",
        { x: end, y: top + kChannels.errors + 20, "text-anchor": "end" },
        String(channels.length - 1)
      )
    ].flat()
  );
}

function worstChannels(weight) {
  const ranked = weight.channels
    .map((channel, index) => ({ channel, index }))
    .filter(({ channel }) => isNumber(channel.sqnr))
    .sort((a, b) => a.channel.sqnr - b.channel.sqnr)
    .slice(0, 8);
  return element(
    "details",
    {},
    element("summary", {}, "Worst channels"),
    smallTable(
      "Channels of least SQNR",
      [
        { label: "Channel" },
        { label: "SQNR", number: true },
        { label: "Range", number: true },
        { label: "Scale", number: true }
      ],
      ranked.map(({ channel, index }) => [
        String(index),
        `${fixed(channel.sqnr, 1)} dB`,
        range(channel.low, channel.high),
        significant(channel.scale)
      ])
    )
  );
}

function weightSection(weight) {
  const channels = weight.channels ?? [];
  const axis =
    weight.block > 0
      ? `one scale for each ${weight.block} neighbours along axis ${weight.axis}`
      : isNumber(weight.axis)
        ? `one scale per channel (axis ${weight.axis})`
        : "one scale";
  return element(
    "section",
    {},
    element("h3", {}, "Weights"),
    element(
      "dl",
      { class: "facts" },
      fact("Name", element("span", { class: "name" }, weight.name)),
      fact("Stored as", weight.storage, axis),
      fact("SQNR", isNumber(weight.sqnr) ? `${fixed(weight.sqnr, 1)} dB` : null),
      fact(
        "Widest to narrowest channel",
        isNumber(weight.range_ratio) ? `${significant(weight.range_ratio)} : 1` : null
      )
    ),
    channels.length > 1
      ? [
          element(
            "figure",
            {},
            element(
              "figcaption",
              { class: "quiet" },
              "Range of each channel, and below it its SQNR"
            ),
            channelPlot(weight)
          ),
          worstChannels(weight)
        ]
      : null
  );
}
