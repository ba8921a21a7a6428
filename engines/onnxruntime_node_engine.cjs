// Times models in ONNX Runtime for Node.js, for `tare measure`, `tune` and `quantize --engine`.
// usage: node onnxruntime_node_engine.cjs    speaks the protocol of docs/engines.md on standard input and output
// Needs the package onnxruntime-node, in the folder that it is started in or beside this file.
'use strict';
const fs = require('fs');
const os = require('os');
const readline = require('readline');

const found = require.resolve('onnxruntime-node', {paths: [process.cwd(), __dirname, ...module.paths]});
const ort = require(found);
const version = JSON.parse(fs.readFileSync(found.replace(/onnxruntime-node.*$/, 'onnxruntime-node/package.json'))).version;

// Made of bytes, whose order is that of the machine on either side.
const kArrays = {
  float32: Float32Array, float64: Float64Array, int8: Int8Array, uint8: Uint8Array, int16: Int16Array, uint16: Uint16Array,
  int32: Int32Array, uint32: Uint32Array, int64: BigInt64Array, uint64: BigUint64Array, bool: Uint8Array,
};

/// Normal values, always the same ones.
function normal(count) {
  let state = 1;
  const uniform = () => (state = (state * 48271) % 2147483647) / 2147483647;
  return Float32Array.from({length: count}, () => Math.sqrt(-2 * Math.log(uniform())) * Math.cos(2 * Math.PI * uniform()));
}

function given({type, shape, data}) {
  const bytes = Uint8Array.from(Buffer.from(data, 'base64'));
  const array = new kArrays[type](bytes.buffer, 0, bytes.byteLength / kArrays[type].BYTES_PER_ELEMENT);
  return new ort.Tensor(type, array, shape);
}

/// Something for an input that nobody gave: normal values, or zeros, which are valid indices.
function madeUp({type, shape}) {
  const extents = shape.map((extent) => (Number.isInteger(extent) && extent > 0 ? extent : 1));
  const count = extents.reduce((a, b) => a * b, 1);
  return new ort.Tensor(type, type === 'float32' ? normal(count) : new kArrays[type](count), extents);
}

function processor() {
  const text = fs.existsSync('/proc/cpuinfo') ? fs.readFileSync('/proc/cpuinfo', 'utf8') : '';
  const fact = (key) => (new RegExp(`^${key}\\s*: *(.*)$`, 'm').exec(text) || [])[1];
  const numbers = [fact('cpu family'), fact('model')].filter((number) => number !== undefined);
  const name = fact('model name') || os.cpus()[0]?.model || os.arch();
  return numbers.length > 0 ? `${name} (${numbers.join('/')})` : name;
}

const models = new Map();
let threads = 1;

async function time(model, runs) {
  const start = process.hrtime.bigint();
  for (let i = 0; i < runs; ++i) {
    await model.session.run(model.feeds);
  }
  return Number(process.hrtime.bigint() - start) / runs;
}

const requests = {
  async open(request) {
    threads = request.threads || 1;
    return {engine: 'onnxruntime-node', version, processor: processor(), threads};
  },
  async load(request) {
    let source = request.file;
    if (request.content !== undefined) {
      source = Uint8Array.from(Buffer.from(request.content, 'base64'));
    } else if (!fs.existsSync(source) || fs.statSync(source).size !== request.bytes) {
      return {missing: true};
    }
    const options = {executionProviders: ['cpu'], intraOpNumThreads: threads, interOpNumThreads: 1, logSeverityLevel: 4};
    if (threads > 1) {
      // Threads that wait for the next run by spinning would disturb the model that is timed in between.
      options.extra = {session: {force_spinning_stop: '1'}};
    }
    const session = await ort.InferenceSession.create(source, options);
    const feeds = {};
    for (const entry of session.inputMetadata) {
      const known = (request.inputs || []).find(({name}) => name === entry.name);
      feeds[entry.name] = known ? given(known) : madeUp(entry);
    }
    const model = {session, feeds};
    await time(model, 2);  // memory is planned in the first run
    models.set(request.model, model);
    return {};
  },
  async unload({model}) {
    const session = models.get(model)?.session;
    models.delete(model);
    await session?.release();
    return {};
  },
  async time({models: names, runs, rounds}) {
    const nanoseconds = names.map(() => []);
    for (let round = 0; round < rounds; ++round) {
      // In turn, and the other way round every second time, so that each comes behind each.
      const order = round % 2 === 0 ? [...names.keys()] : [...names.keys()].reverse();
      for (const i of order) {
        nanoseconds[i].push(await time(models.get(names[i]), runs[i]));
      }
    }
    return {nanoseconds};
  },
};

async function main() {
  for await (const line of readline.createInterface({input: process.stdin, crlfDelay: Infinity})) {
    let answer;
    try {
      const request = JSON.parse(line);
      answer = await requests[request.request](request);
    } catch (error) {
      answer = {error: String(error?.message ?? error)};
    }
    fs.writeSync(1, JSON.stringify(answer) + '\n');
  }
}

main();
