// Runs many small ONNX models in ONNX Runtime's CPU provider, one after the other in one process: samples may have
// several shapes, and outputs may be inputs of the next sample.

import fs from 'node:fs';

import {ARRAY_TYPES, createSession, loadRuntime} from './onnxruntime.mjs';

const USAGE = `usage: node cases.mjs CASES.json

CASES.json is a list of cases:
  {"model": "m.onnx", "samples": [{"x": {"type": "float32", "dims": [1, 3], "data": [0, 1, 2]}}], "state": {"h": "hn"},
   "merges_roundings": true}
Samples are run in their order. Inputs of "state" are the output of that name from the sample before; the first sample
has their values. Without "merges_roundings", pairs of QuantizeLinear and DequantizeLinear that follow each other with
different scales stay two roundings. Prints a line of JSON for each case: the outputs of each sample by name, in the
form of inputs, or {"error": "..."}. What is no number is null.`;

async function runCase(ort, {model, samples, state, merges_roundings: merges}) {
  const extra = {session: {disable_double_qdq_remover: merges ? '0' : '1'}};
  const session = await createSession(ort, model, {threads: 1, optimization: 'all'}, {extra});
  const results = [];
  let before = {};
  for (const sample of samples) {
    const feed = {};
    for (const [name, {type, dims, data}] of Object.entries(sample)) {
      feed[name] = new ort.Tensor(type, ARRAY_TYPES[type].from(data, type === 'int64' ? BigInt : Number), dims);
    }
    for (const [input, output] of Object.entries(state)) feed[input] = before[output] ?? feed[input];
    before = await session.run(feed);
    results.push(Object.fromEntries(session.outputNames.map((name) => [name, plain(before[name])])));
  }
  await session.release();
  return results;
}

function plain({type, dims, data}) {
  return {type, dims: [...dims], data: Array.from(data, Number)};
}

const [file] = process.argv.slice(2);
if (file === undefined || file === '--help') {
  console.log(USAGE);
  process.exitCode = file === undefined ? 2 : 0;
} else {
  const ort = await loadRuntime();
  for (const each of JSON.parse(fs.readFileSync(file, 'utf8'))) {
    const result = await runCase(ort, each).catch((error) => ({error: error.message}));
    console.log(JSON.stringify(result));
  }
}
