/** Small WebAssembly modules for tests, in the binary form (WebAssembly Core Specification 2.0, section 5). */

/** Types of values. */
export const [I32, F64] = [0x7f, 0x7c];

interface Function {
  name?: string;
  arguments?: number[];
  results?: number[];
  /** Instructions of the body; the final `end` is added. */
  body: number[];
  locals?: number;
}

/** Parts of a module that a test changes. */
export interface Parts {
  /** Functions by their names; null removes one of the plain module. */
  functions?: Record<string, Omit<Function, "name"> | null>;
  imports?: { module: string; name: string; arguments: number[]; results: number[] }[];
  description?: string;
  /** Pages of the memory. */
  pages?: number;
  exportsMemory?: boolean;
}

/** Addresses in the memory of the modules. */
const DESCRIPTION = 1024;
const EXCHANGE = 8192;

/** Instructions. */
export const op = {
  constant: (value: number): number[] => [0x41, ...signed(value)],
  real: (value: number): number[] => [0x44, ...new Uint8Array(new Float64Array([value]).buffer)],
  local: (index: number): number[] => [0x20, index],
  call: (index: number): number[] => [0x10, index],
  load: (address: number[]): number[] => [...address, 0x2b, 3, 0],
  store: (address: number[], value: number[]): number[] => [...address, ...value, 0x39, 3, 0],
  add: (left: number[], right: number[]): number[] => [...left, ...right, 0xa0],
  divide: (left: number[], right: number[]): number[] => [...left, ...right, 0xa3],
  grow: (pages: number[]): number[] => [...pages, 0x40, 0],
  drop: 0x1a,
  unreachable: 0x00,
  /** Endless loop. */
  loop: [0x03, 0x40, 0x0c, 0, 0x0b],
};

/** Address of a field of the exchange. */
export function field(offset: number): number[] {
  return op.constant(EXCHANGE + offset);
}

/** Sets the window. */
export function setWindow(value: number[]): number[] {
  return op.store(field(0), value);
}

/** A controller with one packet more per round trip, and half of the flight after a loss. */
const PLAIN: Record<string, Omit<Function, "name">> = {
  forebay_abi: { results: [I32], body: op.constant(1) },
  forebay_describe: { results: [I32], body: op.constant(DESCRIPTION) },
  forebay_exchange: { results: [I32], body: op.constant(EXCHANGE) },
  create: { arguments: [I32], body: [] },
  on_ack: {
    arguments: [I32],
    body: setWindow(op.add(op.load(field(0)), op.divide(op.load(field(56)), op.load(field(0))))),
  },
  on_congestion_event: {
    arguments: [I32],
    body: [...setWindow(op.divide(op.load(field(56)), op.real(2))), ...op.store(field(8), op.load(field(0)))],
  },
};

/** The bytes of a module. */
export function wasmModule(parts: Parts = {}): Uint8Array<ArrayBuffer> {
  const { imports = [], pages = 1, exportsMemory = true } = parts;
  const description = parts.description ?? '{"title": "Plain", "state_bytes": 16}';
  const functions: Function[] = Object.entries({ ...PLAIN, ...parts.functions })
    .filter((entry): entry is [string, Function] => entry[1] !== null)
    .map(([name, it]) => ({ ...it, name }));
  const types = [...imports, ...functions].map((it) => [
    0x60,
    ...list((it.arguments ?? []).map((type) => [type])),
    ...list((it.results ?? []).map((type) => [type])),
  ]);
  const names = functions.map(({ name = "" }, at) => [...text(name), 0, ...unsigned(imports.length + at)]);
  return new Uint8Array([
    ...[0, 0x61, 0x73, 0x6d, 1, 0, 0, 0],
    ...section(1, list(types)),
    ...section(2, list(imports.map((it, at) => [...text(it.module), ...text(it.name), 0, ...unsigned(at)]))),
    ...section(3, list(functions.map((_, at) => unsigned(imports.length + at)))),
    ...section(5, list([[0, ...unsigned(pages)]])),
    ...section(7, list(exportsMemory ? [[...text("memory"), 2, 0], ...names] : names)),
    ...section(10, list(functions.map(code))),
    ...section(11, list([[0, ...op.constant(DESCRIPTION), 0x0b, ...text(`${description}\0`)]])),
  ]);
}

function code({ body, locals = 0 }: Function): number[] {
  const whole = [...(locals > 0 ? [1, ...unsigned(locals), F64 as number] : [0]), ...body, 0x0b];
  return [...unsigned(whole.length), ...whole];
}

function section(number: number, body: number[]): number[] {
  return [number, ...unsigned(body.length), ...body];
}

function list(items: number[][]): number[] {
  return [...unsigned(items.length), ...items.flat()];
}

function text(value: string): number[] {
  const bytes = [...new TextEncoder().encode(value)];
  return [...unsigned(bytes.length), ...bytes];
}

/** Unsigned LEB128. */
function unsigned(value: number): number[] {
  return value > 0x7f ? [(value & 0x7f) | 0x80, ...unsigned(value >>> 7)] : [value];
}

/** Signed LEB128. */
function signed(value: number): number[] {
  const low = value & 0x7f;
  const rest = value >> 7;
  const isLast = (rest === 0 && low < 0x40) || (rest === -1 && low >= 0x40);
  return isLast ? [low] : [low | 0x80, ...signed(rest)];
}
