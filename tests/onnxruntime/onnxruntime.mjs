// Runs ONNX models in ONNX Runtime's CPU provider and reports outputs, kernels or time, each as one line of JSON.

import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import {fileURLToPath, pathToFileURL} from 'node:url';

const USAGE = `usage: node onnxruntime.mjs run MODEL SPEC.json OUTDIR [--threads N] [--optimization LEVEL]
       node onnxruntime.mjs kernels MODEL [--optimization LEVEL]
       node onnxruntime.mjs pass MODEL SPEC.json [--threads N] [--optimization LEVEL]
       node onnxruntime.mjs compare MODEL OTHER SPEC.json [--threads N] [--optimization LEVEL]
       node onnxruntime.mjs --help

run      runs every sample, one at a time, and writes output k of all samples to OUTDIR/<k>.bin (raw little-endian,
         in sample order); prints {"outputs":[{"name","type","dims"}],"samples","seconds_create","seconds_run"}
kernels  prints the operators left after ONNX Runtime's own optimization:
         {"op_types":{op_type: count},"nodes":[{"name","op_type","domain"}]}; nodes inside sub-graphs are not listed
pass     runs every sample and drops the outputs; prints {"seconds","samples"}, where seconds covers creating the
         session, reading the samples and running them
compare  runs every sample through both; prints {"sqnr","same_top","samples"}: how far all float outputs of OTHER are from
         those of MODEL, in dB, and the share of rows of the first output whose largest element is the same one

--threads N           threads inside one operator, 1 or more (default 1)
--optimization LEVEL  none, basic, extended or all (default all); with none, QuantizeLinear and DequantizeLinear are
                      evaluated as written, in float32, and no integer kernel is used

SPEC.json describes the samples:
  {"inputs": [{"name": "x", "type": "float32", "dims": [1, 3, 224, 224], "file": "x.bin"}], "samples": 64}
  type is float32, int64, int32, uint8, int8 or bool; dims are those of one sample, its leading batch of 1 included;
  file holds all samples of that input one after the other, raw and little-endian, and is taken relative to SPEC.json.

Exit status: 0 done, 1 failed, 2 wrong command line.`;

const COMMANDS = {
  run: {operands: ['MODEL', 'SPEC.json', 'OUTDIR'], options: ['threads', 'optimization'], execute: runCommand},
  kernels: {operands: ['MODEL'], options: ['optimization'], execute: kernelsCommand},
  pass: {operands: ['MODEL', 'SPEC.json'], options: ['threads', 'optimization'], execute: passCommand},
  compare: {operands: ['MODEL', 'OTHER', 'SPEC.json'], options: ['threads', 'optimization'], execute: compareCommand},
};
const OPTIMIZATION_LEVELS = {none: 'disabled', basic: 'basic', extended: 'extended', all: 'all'};
export const ARRAY_TYPES = {
  float32: Float32Array,
  int64: BigInt64Array,
  int32: Int32Array,
  uint8: Uint8Array,
  int8: Int8Array,
  bool: Uint8Array,
};

class UsageError extends Error {}
class Failure extends Error {}

// ---- command line ---------------------------------------------------------------------------------------------------

export function parseCommandLine(words) {
  const [name, ...rest] = words;
  const command = Object.hasOwn(COMMANDS, name ?? '') ? COMMANDS[name] : undefined;
  if (!command) throw new UsageError(name === undefined ? 'no command given' : `unknown command '${name}'`);
  const operands = [];
  const options = {threads: 1, optimization: 'all'};
  for (let i = 0; i < rest.length; ++i) {
    if (!rest[i].startsWith('--')) {
      operands.push(rest[i]);
      continue;
    }
    const option = rest[i].slice(2);
    if (!command.options.includes(option)) throw new UsageError(`${name} has no option '${rest[i]}'`);
    if (i + 1 === rest.length) throw new UsageError(`${rest[i]} needs a value`);
    options[option] = parseOption(option, rest[++i]);
  }
  if (operands.length !== command.operands.length) {
    throw new UsageError(`${name} takes ${command.operands.join(' ')}; ${operands.length} given`);
  }
  return {command, operands, options};
}

function parseOption(option, value) {
  if (option === 'threads') {
    if (/^[1-9][0-9]{0,3}$/.test(value)) return Number(value);
    throw new UsageError(`--threads must be an integer from 1 to 9999, not '${value}'`);
  }
  if (!Object.hasOwn(OPTIMIZATION_LEVELS, value)) {
    const levels = Object.keys(OPTIMIZATION_LEVELS).join(', ');
    throw new UsageError(`--optimization must be one of ${levels}, not '${value}'`);
  }
  return value;
}

// ---- samples --------------------------------------------------------------------------------------------------------

// Reads and checks SPEC.json. Every input gains `path`, `count` (elements of one sample) and `bytes` (of one sample).
export function readSpec(specPath) {
  let spec;
  try {
    spec = JSON.parse(fs.readFileSync(specPath, 'utf8'));
  } catch (error) {
    throw new Failure(`cannot read ${specPath}: ${error.message}`);
  }
  const fail = (what) => {
    throw new Failure(`${specPath}: ${what}`);
  };
  if (!Number.isSafeInteger(spec?.samples) || spec.samples < 1) fail('"samples" must be a positive integer');
  if (!Array.isArray(spec.inputs) || spec.inputs.length === 0) fail('"inputs" must be a list of at least one input');
  const folder = path.dirname(specPath);
  const inputs = spec.inputs.map((input, index) => checkInput(input, index, spec.samples, folder, fail));
  if (new Set(inputs.map((input) => input.name)).size !== inputs.length) fail('two inputs have the same name');
  return {inputs, samples: spec.samples};
}

function checkInput(input, index, samples, folder, fail) {
  const {name, type, dims, file} = input ?? {};
  if (typeof name !== 'string') fail(`input ${index}: "name" must be a string`);
  if (!Object.hasOwn(ARRAY_TYPES, type)) {
    fail(`input '${name}': "type" must be one of ${Object.keys(ARRAY_TYPES).join(', ')}, not ${JSON.stringify(type)}`);
  }
  if (!Array.isArray(dims) || !dims.every((dim) => Number.isSafeInteger(dim) && dim > 0)) {
    fail(`input '${name}': "dims" must be a list of positive integers`);
  }
  if (typeof file !== 'string') fail(`input '${name}': "file" must be a string`);
  const count = dims.reduce((product, dim) => product * dim, 1);
  const bytes = count * ARRAY_TYPES[type].BYTES_PER_ELEMENT;
  const filePath = path.resolve(folder, file);
  let size;
  try {
    size = fs.statSync(filePath).size;
  } catch (error) {
    fail(`input '${name}': ${error.message}`);
  }
  if (size !== samples * bytes) {
    fail(`input '${name}': ${file} holds ${size} bytes; ${samples} samples of ${bytes} bytes make ${samples * bytes}`);
  }
  return {name, type, dims, path: filePath, count, bytes};
}

// The samples must name exactly the model's inputs, with the model's element types.
function checkInputsMatch(session, inputs) {
  const given = new Map(inputs.map((input) => [input.name, input]));
  for (const wanted of session.inputMetadata) {
    const input = given.get(wanted.name);
    if (!input) throw new Failure(`the samples lack the model's input '${wanted.name}'`);
    if (input.type !== wanted.type) {
      const type = wanted.type ?? 'no tensor';
      throw new Failure(`the model's input '${wanted.name}' is ${type}, the samples hold ${input.type}`);
    }
    given.delete(wanted.name);
  }
  for (const name of given.keys()) throw new Failure(`the model has no input '${name}'`);
}

// Reads one sample at a time from the open raw files.
class SampleReader {
  constructor(ort, inputs) {
    this.ort = ort;
    this.inputs = inputs;
    this.files = inputs.map((input) => fs.openSync(input.path, 'r'));
  }

  feed(sample) {
    return Object.fromEntries(this.inputs.map((input, k) => [input.name, this.tensor(input, this.files[k], sample)]));
  }

  tensor(input, file, sample) {
    const data = new ARRAY_TYPES[input.type](input.count);
    let done = 0;
    while (done < input.bytes) {
      const rest = new Uint8Array(data.buffer, done);
      const read = fs.readSync(file, rest, 0, rest.length, sample * input.bytes + done);
      if (read === 0) throw new Failure(`${input.path} ended inside sample ${sample}`);
      done += read;
    }
    return new this.ort.Tensor(input.type, data, input.dims);
  }

  close() {
    this.files.forEach((file) => fs.closeSync(file));
  }
}

// ---- ONNX Runtime ---------------------------------------------------------------------------------------------------

export async function loadRuntime() {
  try {
    return (await import('onnxruntime-node')).default;
  } catch (error) {
    const folder = path.dirname(fileURLToPath(import.meta.url));
    throw new Failure(`cannot load onnxruntime-node (run 'npm ci' in ${folder}): ${error.message}`);
  }
}

export async function createSession(ort, model, options, extra = {}) {
  if (!fs.existsSync(model)) throw new Failure(`cannot read ${model}: no such file`);
  try {
    return await ort.InferenceSession.create(model, {
      executionProviders: ['cpu'],
      intraOpNumThreads: options.threads,
      interOpNumThreads: 1,
      graphOptimizationLevel: OPTIMIZATION_LEVELS[options.optimization],
      logSeverityLevel: 3,
      ...extra,
    });
  } catch (error) {
    throw new Failure(`ONNX Runtime rejects ${model}: ${error.message}`);
  }
}

// Runs all samples in order. `consume` sees the outputs of each before they are released. Returns the seconds spent in
// the runtime itself.
async function runSamples(ort, session, spec, consume) {
  checkInputsMatch(session, spec.inputs);
  const reader = new SampleReader(ort, spec.inputs);
  let seconds = 0;
  try {
    for (let sample = 0; sample < spec.samples; ++sample) {
      const feed = reader.feed(sample);
      const start = performance.now();
      const outputs = await runOne(session, feed, sample);
      seconds += (performance.now() - start) / 1000;
      consume(outputs, sample);
      [...Object.values(feed), ...Object.values(outputs)].forEach((tensor) => tensor.dispose());
    }
  } finally {
    reader.close();
  }
  return seconds;
}

async function runOne(session, feed, sample) {
  try {
    return await session.run(feed);
  } catch (error) {
    throw new Failure(`sample ${sample}: ${error.message}`);
  }
}

// ---- run ------------------------------------------------------------------------------------------------------------

// Appends each output of each sample to its own file. The first sample settles the shapes.
class OutputWriter {
  constructor(folder, names) {
    fs.mkdirSync(folder, {recursive: true});
    this.outputs = names.map((name) => ({name}));
    this.files = names.map((_, k) => fs.openSync(path.join(folder, `${k}.bin`), 'w'));
  }

  write(tensors, sample) {
    this.outputs.forEach((output, k) => {
      const tensor = tensors[output.name];
      if (!ArrayBuffer.isView(tensor.data)) {
        throw new Failure(`output '${output.name}' has type ${tensor.type}, which has no raw form`);
      }
      output.type ??= tensor.type;
      output.dims ??= [...tensor.dims];
      if (String(tensor.dims) !== String(output.dims)) {
        const change = `[${tensor.dims}] for sample ${sample}, [${output.dims}] before`;
        throw new Failure(`output '${output.name}' has dims ${change}`);
      }
      this.append(k, new Uint8Array(tensor.data.buffer, tensor.data.byteOffset, tensor.data.byteLength));
    });
  }

  append(k, bytes) {
    for (let done = 0; done < bytes.length; ) done += fs.writeSync(this.files[k], bytes, done);
  }

  close() {
    this.files.forEach((file) => fs.closeSync(file));
  }
}

async function runCommand([model, specPath, folder], options) {
  const ort = await loadRuntime();
  const spec = readSpec(specPath);
  const start = performance.now();
  const session = await createSession(ort, model, options);
  const created = (performance.now() - start) / 1000;
  const writer = new OutputWriter(folder, session.outputNames);
  try {
    const ran = await runSamples(ort, session, spec, (outputs, sample) => writer.write(outputs, sample));
    const {outputs} = writer;
    return {outputs, samples: spec.samples, seconds_create: round(created), seconds_run: round(ran)};
  } finally {
    writer.close();
  }
}

// ---- pass -----------------------------------------------------------------------------------------------------------

async function passCommand([model, specPath], options) {
  const ort = await loadRuntime();
  const spec = readSpec(specPath);
  const start = performance.now();
  const session = await createSession(ort, model, options);
  await runSamples(ort, session, spec, () => {});
  return {seconds: round((performance.now() - start) / 1000), samples: spec.samples};
}

function round(seconds) {
  return Number(seconds.toFixed(6));
}

// ---- compare --------------------------------------------------------------------------------------------------------

async function compareCommand([model, other, specPath], options) {
  const ort = await loadRuntime();
  const spec = readSpec(specPath);
  const expected = await floatOutputs(ort, await createSession(ort, model, options), spec);
  const session = await createSession(ort, other, options);
  const total = {signal: 0, noise: 0, rows: 0, same: 0};
  await runSamples(ort, session, spec, (outputs, sample) => addSample(total, expected[sample], outputs));
  const sqnr = total.noise > 0 ? 10 * Math.log10(total.signal / total.noise) : null;
  return {sqnr, same_top: total.same / total.rows, samples: spec.samples};
}

// The float outputs of each sample, in the model's order.
async function floatOutputs(ort, session, spec) {
  const copies = [];
  await runSamples(ort, session, spec, (outputs) => {
    const tensors = session.outputNames.map((name) => ({name, ...pick(outputs[name])}));
    copies.push(tensors.filter(({type}) => type === 'float32'));
  });
  return copies;
}

function pick({type, data, dims}) {
  return {type, data: data.slice(), row: dims.at(-1) ?? 1};
}

function addSample(total, expected, outputs) {
  expected.forEach(({name, data, row}, k) => {
    const other = outputs[name]?.data;
    if (other?.length !== data.length) throw new Failure(`output '${name}' is missing or of another size`);
    for (let i = 0; i < data.length; ++i) {
      total.signal += data[i] ** 2;
      total.noise += (data[i] - other[i]) ** 2;
    }
    for (let first = 0; k === 0 && first < data.length; first += row) {
      total.rows += 1;
      total.same += largest(data, first, row) === largest(other, first, row) ? 1 : 0;
    }
  });
}

function largest(values, first, count) {
  let best = first;
  for (let i = first + 1; i < first + count; ++i) best = values[i] > values[best] ? i : best;
  return best;
}

// ---- kernels --------------------------------------------------------------------------------------------------------

async function kernelsCommand([model], options) {
  const ort = await loadRuntime();
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'tare-onnxruntime-'));
  try {
    const optimized = path.join(folder, 'optimized.onnx');
    const session = await createSession(ort, model, options, {optimizedModelFilePath: optimized});
    await session.release();
    const nodes = graphNodes(fs.readFileSync(optimized));
    const opTypes = {};
    for (const node of nodes) opTypes[node.op_type] = (opTypes[node.op_type] ?? 0) + 1;
    return {op_types: opTypes, nodes};
  } finally {
    fs.rmSync(folder, {recursive: true, force: true});
  }
}

// The nodes of a serialized ONNX model. Field numbers are those of onnx.proto.
export function graphNodes(model) {
  const nodes = [];
  for (const graph of messages(model, 7)) {  // ModelProto.graph
    for (const node of messages(graph, 1)) {  // GraphProto.node
      nodes.push({name: text(node, 3), op_type: text(node, 4), domain: text(node, 7)});
    }
  }
  return nodes;
}

function text(message, number) {
  return messages(message, number).at(-1)?.toString('utf8') ?? '';
}

// All length-delimited fields with this number, in order, as views into the message.
function messages(message, number) {
  const found = [];
  for (let at = 0; at < message.length; ) {
    const tag = varint(message, at);
    const field = Math.floor(tag.value / 8);
    const {start, end} = fieldExtent(message, tag.value % 8, tag.end);
    if (end > message.length) throw new Failure(`protobuf field ${field} runs past the end of its message`);
    if (field === number && tag.value % 8 === 2) found.push(message.subarray(start, end));
    at = end;
  }
  return found;
}

function fieldExtent(message, wireType, at) {
  switch (wireType) {
    case 0: return {start: at, end: varint(message, at).end};
    case 1: return {start: at, end: at + 8};
    case 2: {
      const length = varint(message, at);
      return {start: length.end, end: length.end + length.value};
    }
    case 5: return {start: at, end: at + 4};
    default: throw new Failure(`protobuf wire type ${wireType} is not supported`);
  }
}

// Values above 2^53 lose their low bits; tags and lengths never get there.
function varint(message, at) {
  let value = 0;
  for (let k = 0; k < 10; ++k) {
    if (at + k >= message.length) throw new Failure('protobuf message ends inside a number');
    const byte = message[at + k];
    value += (byte & 0x7f) * 2 ** (7 * k);
    if (byte < 0x80) return {value, end: at + k + 1};
  }
  throw new Failure('protobuf number is longer than 10 bytes');
}

// ---------------------------------------------------------------------------------------------------------------------

async function main(words) {
  if (words.includes('--help') || words.includes('-h')) {
    console.log(USAGE);
    return 0;
  }
  try {
    const {command, operands, options} = parseCommandLine(words);
    console.log(JSON.stringify(await command.execute(operands, options)));
    return 0;
  } catch (error) {
    if (error instanceof UsageError) {
      console.error(`onnxruntime: ${error.message}\n\n${USAGE}`);
      return 2;
    }
    console.error(`onnxruntime: ${error instanceof Failure || error.code ? error.message : error.stack}`);
    return 1;
  }
}

if (process.argv[1] && import.meta.url === pathToFileURL(fs.realpathSync(process.argv[1])).href) {
  process.exitCode = await main(process.argv.slice(2));
}
