// Runs one file of the web platform tests in Node.js, with a browser's WebNN API whose calls the parent process answers:
//   node harness.js ROOT FILE QUERY
// Requests go to standard output and answers come on standard input, a line of JSON each. testharness.js and the file's
// scripts come from ROOT and judge the results; this file provides the environment of a page.
'use strict';
const fs = require('fs');
const path = require('path');
const vm = require('vm');
const [root, file, query] = process.argv.slice(2);

// --- Connection to the parent ---------------------------------------------------------------------------------------

let received = Buffer.alloc(0);
const chunk = Buffer.alloc(1 << 20);

function readLine() {
  const parts = [];
  for (;;) {
    const end = received.indexOf(10);
    parts.push(end < 0 ? received : received.subarray(0, end));
    if (end >= 0) {
      received = received.subarray(end + 1);
      return Buffer.concat(parts).toString();
    }
    const count = fs.readSync(0, chunk);
    if (count === 0) process.exit(3);
    received = Buffer.from(chunk.subarray(0, count));
  }
}

function send(message) {
  const bytes = Buffer.from(JSON.stringify(message) + '\n');
  for (let at = 0; at < bytes.length;) at += fs.writeSync(1, bytes, at);
}

function request(call, ...values) {
  send({call, values: values.map(encode)});
  const answer = JSON.parse(readLine());
  if (answer.error === 'TypeError') throw new TypeError(answer.message);
  if (answer.error) throw new DOMException(answer.message, answer.error);
  return answer.value;
}

const bytesOf = (data) => ArrayBuffer.isView(data) ?
    Buffer.from(data.buffer, data.byteOffset, data.byteLength) : Buffer.from(data);

function encode(value) {
  if (value === undefined || value === null) return null;
  if (typeof value === 'bigint') return {bigint: String(value)};
  if (typeof value === 'number') return Number.isFinite(value) ? value : {number: String(value)};
  if (typeof value !== 'object') return value;
  if (value instanceof Handle) return {handle: value.id};
  if (Array.isArray(value)) return value.map(encode);
  if (ArrayBuffer.isView(value) || value instanceof ArrayBuffer || value instanceof SharedArrayBuffer) {
    return {data: bytesOf(value).toString('base64'), type: value.constructor.name};
  }
  if (Object.getPrototypeOf(value) !== Object.prototype) return {other: value.constructor.name};
  return {object: Object.fromEntries(Object.entries(value).map(([key, item]) => [key, encode(item)]))};
}

// --- WebNN's interfaces ---------------------------------------------------------------------------------------------

class Handle {
  constructor(id) { this.id = id; }
}

// WebIDL's conversion of a descriptor: sizes are integers
function descriptorOf({dataType, shape, ...rest}) {
  return {dataType, shape: Array.from(shape, (size) => typeof size === 'number' ? Math.trunc(size) : size), ...rest};
}

class MLOperand extends Handle {
  constructor({id, dataType, shape}) {
    super(id);
    Object.assign(this, {dataType, shape: Object.freeze(shape)});
  }
}

class MLGraph extends Handle {
  destroy() { request('destroy', this); }
}

class MLTensor extends Handle {
  #pending = new Set();

  constructor(id, {dataType, shape, readable = false, writable = false}) {
    super(id);
    Object.assign(this, {dataType, shape: Object.freeze([...shape]), readable, writable});
  }

  // Returns a promise that `settle` resolves in a later task, unless the tensor is destroyed before
  later(settle) {
    return new Promise((resolve, reject) => {
      this.#pending.add(reject);
      setTimeout(() => {
        if (!this.#pending.delete(reject)) return;
        try { resolve(settle()); } catch (error) { reject(error); }
      }, 0);
    });
  }

  rejectAll() {
    for (const reject of this.#pending) reject(new DOMException('the tensor is destroyed', 'InvalidStateError'));
    this.#pending.clear();
  }

  destroy() {
    this.rejectAll();
    request('destroy', this);
  }
}

class MLContext extends Handle {
  #limits;
  #lose;
  #tensors = [];

  constructor({id, limits}) {
    super(id);
    this.#limits = limits;
    this.lost = new Promise((resolve) => this.#lose = resolve);
  }

  opSupportLimits() { return structuredClone(this.#limits); }

  async createTensor(descriptor) {
    const tensor = new MLTensor(request('create_tensor', this, descriptorOf(descriptor)), descriptor);
    this.#tensors.push(tensor);
    return tensor;
  }

  async createConstantTensor(descriptor, data) {
    return new MLTensor(request('create_constant_tensor', this, descriptorOf(descriptor), data), descriptor);
  }

  writeTensor(tensor, data) { request('write_tensor', this, tensor, data); }

  async readTensor(tensor, into) {
    const bytes = Buffer.from(request('read_tensor', this, tensor), 'base64');
    if (into !== undefined && into.byteLength < bytes.length) throw new TypeError('the buffer is too small');
    return tensor.later(() => {
      if (into === undefined) return bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length);
      if (into.byteLength < bytes.length) throw new TypeError('the buffer is detached');
      const [buffer, at] = ArrayBuffer.isView(into) ? [into.buffer, into.byteOffset] : [into, 0];
      new Uint8Array(buffer, at, bytes.length).set(bytes);
    });
  }

  dispatch(graph, inputs, outputs) { request('dispatch', this, graph, inputs, outputs); }

  destroy() {
    request('destroy', this);
    for (const tensor of this.#tensors) tensor.rejectAll();
    this.#lose({message: 'destroyed'});
  }
}

class MLGraphBuilder extends Handle {
  constructor(context) { super(request('builder', context)); }

  input(name, descriptor) { return new MLOperand(request('input', this, name, descriptorOf(descriptor))); }

  constant(what, value) {
    const first = typeof what === 'object' && !(what instanceof Handle) ? descriptorOf(what) : what;
    return new MLOperand(request('constant', this, first, value));
  }

  async build(outputs) { return new MLGraph(request('build', this, outputs)); }
}

for (const name of request('operations')) {
  MLGraphBuilder.prototype[name] = function(...values) {
    const made = request('operation', this, name, values);
    return Array.isArray(made) ? made.map((one) => new MLOperand(one)) : new MLOperand(made);
  };
}

// --- The page -------------------------------------------------------------------------------------------------------

const ml = {async createContext(options = {}) { return new MLContext(request('context', options)); }};
Object.defineProperty(globalThis, 'navigator', {value: {ml}, configurable: true});
Object.assign(globalThis, {MLContext, MLGraph, MLGraphBuilder, MLOperand, MLTensor});
globalThis.self = globalThis.window = globalThis;
globalThis.crossOriginIsolated = true;
globalThis.console = new console.Console(process.stderr);

// Parts of browsers that older versions of Node.js lack
globalThis.Float16Array ??= class Float16Array extends Uint16Array {};
ArrayBuffer.prototype.transfer ??= function() { return structuredClone(this, {transfer: [this]}); };
if (!('detached' in ArrayBuffer.prototype)) {
  Object.defineProperty(ArrayBuffer.prototype, 'detached', {
    get() { try { new Uint8Array(this); return false; } catch { return true; } }
  });
}
Set.prototype.difference ??= function(other) { return new Set([...this].filter((item) => !other.has(item))); };

process.on('unhandledRejection', () => {});  // a page would report these and continue
const run = (script) => vm.runInThisContext(fs.readFileSync(script, 'utf8'), {filename: script});

try {
  run(path.join(root, 'resources/testharness.js'));
  globalThis.location = {search: '?' + query, href: 'https://localhost/' + file};
  add_completion_callback((tests, status) => {
    send({done: tests.map(({name, status, message}) => ({name, passed: status === 0, message})), status});
    process.exit(0);
  });
  const source = fs.readFileSync(path.join(root, file), 'utf8');
  for (const [, script] of source.matchAll(/^\/\/ META: script=(.*)$/gm)) {
    run(path.resolve(root, script[0] === '/' ? '.' + script : path.join(path.dirname(file), script)));
  }
  run(path.join(root, file));
} catch (error) {
  send({failed: String(error && error.stack || error)});
  process.exit(1);
}
