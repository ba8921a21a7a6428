// Reports to test the page with: any number of layers, every kind of entry, the same ones each time.

/** Numbers in [0,1) that look random; the same for the same seed. */
function generator(seed) {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
}

function error(sqnr, random) {
  const ratio = 10 ** (-sqnr / 10);
  return {
    sqnr,
    exact: false,
    cosine: 1 - ratio / 2,
    mse: 0.8 * ratio,
    relative_l2: Math.sqrt(ratio),
    max_error: {
      value: 4 * Math.sqrt(ratio),
      sample: Math.floor(100 * random()),
      index: [0, 3, 7, 1],
      float: 2.1843,
      quantized: 2.1843 - 4 * Math.sqrt(ratio)
    }
  };
}

const kExact = {
  sqnr: null,
  exact: true,
  cosine: 1,
  mse: 0,
  relative_l2: 0,
  max_error: { value: 0, sample: 0, index: [0], float: 0, quantized: 0 }
};

function point(name, sqnr, random) {
  const spread = 1 + 4 * random();
  const counts = Array.from({ length: 128 }, (unused, i) =>
    Math.floor(2e5 * Math.exp(-(((i / 128) * 12 - 1.5) ** 2)) + 40 * Math.exp(-i / 25))
  );
  const top = 0.72 * 6 * spread;
  return {
    name,
    storage: "u8",
    scale: top / 255,
    zero_point: 0,
    axis: null,
    granularity: "per_tensor",
    observed: [-0.2 * spread, 6 * spread],
    calibrated: [0, top],
    calibrator: "mse",
    alternatives: [
      { name: "max", low: 0, high: 6 * spread, error: 3.1e-4 },
      { name: "percentile", low: 0, high: 0.55 * 6 * spread, error: 2.2e-4 },
      { name: "kl", low: 0, high: 0.8 * 6 * spread, error: 1.9e-4 }
    ],
    saturated: { low: 0.0312, high: 0.00021 },
    levels_used: 180 + Math.floor(76 * random()),
    levels: 256,
    effective_bits: 5.5 + 2 * random(),
    lost: 0.034,
    widest_channel: 3,
    channel_ratio: 2.29,
    histogram: { low: -0.5 * spread, high: 6 * spread, counts },
    zeros: 0.42,
    error: error(sqnr + 3, random)
  };
}

function weight(name, channels, random) {
  const ranges = Array.from(
    { length: channels },
    (unused, i) => 0.02 + 0.3 * random() ** 3 + (i === 5 ? 0.9 : 0)
  );
  return {
    name,
    storage: "i8",
    axis: 0,
    sqnr: 38 + 4 * random(),
    range_ratio: Math.max(...ranges) / Math.min(...ranges),
    channels: ranges.map((range) => ({
      low: -range * (0.6 + 0.4 * random()),
      high: range,
      scale: range / 127,
      zero_point: 0,
      sqnr: 32 + 10 * random()
    }))
  };
}

/** A residual network: blocks of three convolutions, an addition, and a Softmax in float at its end. */
export function sampleReport({ layers: size = 24, rename = (name) => name } = {}) {
  const random = generator(7);
  const layers = [];
  const points = [point(rename("image"), 48, random)];
  const nodes = [];
  let cumulative = 50;
  for (let i = 0; i < size; ++i) {
    const isLast = i === size - 1;
    const kind = isLast ? "Softmax" : i % 13 === 12 ? "Sigmoid" : i % 4 === 3 ? "Add" : "Conv";
    const inFloat = isLast || kind === "Sigmoid";
    const name = rename(
      `stage${Math.floor(i / 8) + 1}/block${Math.floor(i / 4) + 1}/${kind.toLowerCase()}_${i}`
    );
    const inputs = [
      i === 0 ? points[0].name : layers[i - 1].name,
      ...(kind === "Add" && i >= 4 ? [layers[i - 4].name] : [])
    ];
    const local = i === 5 ? 17.4 : 36 + 12 * random();
    cumulative +=
      (Math.min(cumulative, local) - 4 - cumulative) * 0.35 + (28 - cumulative) * 0.25 + 3 * random();
    layers.push({
      name,
      op: kind,
      result: name,
      depth: i,
      inputs,
      runs_as: inFloat ? null : kind === "Conv" ? "QLinearConv" : "QLinearAdd",
      float_because: inFloat
        ? "float is faster: 14.4 us against 25 us and conversions"
        : null,
      macs: kind === "Conv" ? Math.floor(1e6 + 9e6 * random()) : 0,
      local: inFloat ? kExact : error(local, random),
      cumulative: error(cumulative, random),
      point: inFloat ? null : name,
      weight: kind === "Conv" ? weight(`${name}.weight`, 16 << (i % 4), random) : null,
      accumulator:
        kind === "Conv"
          ? {
              bits_observed: 15 + (i % 4),
              bits_worst_case: 21 + (i % 3),
              bias_margin: 6.4,
              widened_channels: i === 9 ? 2 : 0
            }
          : null
    });
    if (!inFloat) {
      points.push(point(name, local, random));
    }
    const before = nodes.length;
    nodes.push({
      id: before,
      name,
      op: kind,
      integer: !inFloat,
      layer: i,
      inputs: inputs
        .map((input) => nodes.findLast((node) => node.name === input)?.id)
        .filter((id) => id !== undefined)
    });
  }
  const samples = size * 5;
  const proportion = (percent, of) => ({
    percent,
    low: percent - 2.3,
    high: Math.min(100, percent + 1.1),
    count: Math.round((of * percent) / 100),
    of
  });
  const output = { name: rename("probabilities"), ...error(cumulative, random) };
  return {
    format: "tare-report",
    version: 1,
    tool: { name: "tare", version: "0.1.0" },
    float_model: { file: "models/resnet.onnx", bytes: 1084123, operators: size + 9 },
    quantized_model: {
      file: "models/resnet.int8.onnx",
      bytes: 301214,
      operators: size,
      integer_operators: layers.filter((layer) => layer.runs_as).length
    },
    target: "ort-cpu",
    data: { file: "cifar10.h5", samples },
    verdict: {
      level: "fair",
      text: "The quantized network mostly answers as the float one does; one layer loses more than all others together."
    },
    output,
    outputs: [{ ...output, agreement: proportion(97.4, samples) }],
    top1: { float: proportion(91.7, samples), quantized: proportion(91.2, samples), drop: 0.5 },
    layers,
    points,
    graph: { nodes },
    samples: Array.from({ length: 20 }, (unused, i) => ({
      index: (i * 37) % samples,
      sqnr: 9.2 + 0.6 * i,
      agrees: i > 3
    })),
    diagnosis: [
      {
        kind: "activation_outlier",
        severity: 0.8,
        layer: layers[5].name,
        point: layers[5].point,
        text: "0.01 % of the values lie beyond 6 times the range that holds the others, so the others share 38 of 256 integers.",
        advice: "A calibrator that clips gives them more.",
        yaml: `layers:\n  - {match: {name: "${layers[5].name}"}, activations: {calibrator: {name: percentile, percentile: 99.99}}}\n`
      },
      ...[1, 2, 4, 6, 8].map((index, rank) => ({
        kind: "weight_range",
        severity: 0.6 - 0.05 * rank,
        layer: layers[index].name,
        point: null,
        text: `all weights share one scale, but those of channel 5 are ${90 - rank} times as large as those of the usual one`,
        advice: "give each channel a scale of its own",
        yaml: `layers:\n  - {match: {name: "${layers[index].name}"}, weights: {granularity: per_axis}}\n`
      })),
      {
        kind: "an_unheard_kind",
        severity: 0.1,
        layer: layers[9].name,
        point: null,
        text: "Something that a later version knows.",
        advice: null,
        yaml: null
      }
    ],
    float_operators: layers
      .filter((layer) => layer.float_because)
      .map((layer) => ({ name: layer.name, op: layer.op, because: layer.float_because }))
  };
}

/** What a foreign file may leave open: no histograms, no calibrators, no labels, nothing defined. */
export function bareReport() {
  const report = sampleReport({ layers: 12 });
  report.top1 = null;
  report.outputs.forEach((output) => {
    output.agreement = null;
  });
  report.layers.forEach((layer) => {
    layer.local = null;
    layer.weight = null;
    layer.accumulator = null;
  });
  report.points = report.points.map((point) => ({
    ...point,
    calibrator: null,
    alternatives: [],
    histogram: null,
    observed: null,
    saturated: null,
    levels_used: null,
    error: null
  }));
  report.diagnosis = [];
  report.samples = [];
  report.float_operators = [];
  report.graph = { nodes: [] };
  return report;
}
