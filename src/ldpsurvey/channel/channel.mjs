// Draws reports from the channel that it was written beside, in a browser or in Node (20 or newer), without a
// dependency.
//
//     import { reporter } from "./channel.mjs";
//     const report = await reporter();
//     report({ illness: "no", age: 37 });  // such as "y3"
//     report.channel;  // the id of the channel, to be sent with the report
//     report.values;  // what each field may be, such as { illness: ["no", "yes"], age: ["(-inf,40)", "[40,inf)"] }
//
// Each person reports once: store the report, and send it again where a page is loaded again. What two reports
// together reveal has another limit, or none.

/** The SHA-256 of the only channel file that is used. */
const CHANNEL = "the SHA-256 of channel.json";

/** The id of the channel. */
const ID = "the id of channel.json";

/**
 * Return a promise of a function from a record to its report. A record is an object with a text or a number for every
 * column that is asked; numbers go into the channel's groups.
 *
 * `file` has the bytes of channel.json; by default they are read from the file beside this one. `random` returns eight
 * bytes; anything but the default is no protection. An Error is thrown if the file is not the one that this sampler was
 * written beside, or a field of a record is none that the channel knows.
 */
export async function reporter(file, random = secure) {
  const channel = await content(file);
  const { sensitive, useful, rows, columns } = channel.design;
  // Where a report does not depend on the sensitive value, that is not asked.
  const unasked = useful.length > 0 && rows.length > 1 && channel.weights.every((row, x) => row === channel.weights[x % columns.length]);
  const attributes = unasked ? useful : [...sensitive, ...useful];
  const thresholds = channel.weights.map(runningSums);
  const labels = unasked ? columns : rows.flatMap((row) => columns.map((column) => [...row, ...column]));
  const places = new Map(labels.map((label, place) => [JSON.stringify(label), place]));
  const values = attributes.map((_, field) => [...new Set(labels.map((label) => label[field]))]);
  const fields = attributes.map((name, field) => reader(name, values[field]));
  const report = (record) => {
    const label = fields.map((read) => read(record));
    const place = places.get(JSON.stringify(label));
    if (place === undefined) {
      throw new Error(`The channel has no row for ${attributes.map((name, i) => `${name} ${label[i]}`).join(", ")}.`);
    }
    const number = word(random);
    return channel.outputs[thresholds[place].filter((threshold) => threshold <= number).length];
  };
  return Object.assign(report, {
    channel: ID,
    values: Object.fromEntries(attributes.map((name, field) => [name, values[field]])),
  });
}

// What follows is the same for all kinds of channels.

const BITS = 62n;

const NUMBER = /^[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?$/;
const GROUP = /^(?:\(-inf|\[([^,[\]()]+)),(?:inf|([^,[\]()]+))\)$/;

/** Eight bytes of the operating system, which are fit for secrets. */
const secure = () => globalThis.crypto.getRandomValues(new Uint8Array(8));

/** Return the content of the file of the channel, after checking that it is that one. */
async function content(file) {
  const bytes = file ?? (await beside());
  const found = await digest(bytes);
  if (found !== CHANNEL) {
    throw new Error(`This is not the file of the channel: its SHA-256 is ${found}, and that of the channel is ${CHANNEL}.`);
  }
  return JSON.parse(new TextDecoder().decode(bytes));
}

/** Return a random number below 2^62. */
function word(random) {
  const bytes = random();
  return new DataView(bytes.buffer, bytes.byteOffset, 8).getBigUint64(0, true) >> (64n - BITS);
}

/** Return a function from a record to the value of one of its fields, which is among those of the channel. */
function reader(name, values) {
  const groups = values
    .map((label) => ({ label, found: GROUP.exec(label) }))
    .filter(({ found }) => found && (found[1] ?? found[2]) !== undefined)
    .map(({ label, found }) => ({
      label,
      start: found[1] === undefined ? -Infinity : asNumber(found[1]),
      end: found[2] === undefined ? Infinity : asNumber(found[2]),
    }))
    .sort((one, other) => one.start - other.start);
  // Every number is in one group: each ends where the next one begins.
  const ends = [-Infinity, ...groups.map(({ end }) => end)];
  const grouped = groups.length > 1 && [...groups, { start: Infinity }].every(({ start }, i) => start === ends[i]);
  const allowed = `${grouped ? "a number, or " : ""}${values.map((value) => JSON.stringify(value)).join(", ")}`;
  return (record) => {
    const value = record?.[name];
    if (typeof value !== "string" && typeof value !== "number") {
      const is = value === undefined ? "is missing" : `is of type ${value === null ? "null" : typeof value}`;
      throw new Error(`The field ${JSON.stringify(name)} of the record ${is}; allowed are ${allowed}.`);
    }
    const text = String(value);
    if (values.includes(text)) return text;
    const number = grouped ? asNumber(text) : NaN;
    if (Number.isFinite(number)) return groups.findLast(({ start }) => start <= number).label;
    throw new Error(`The field ${JSON.stringify(name)} of the record is ${JSON.stringify(text)}; allowed are ${allowed}.`);
  };
}

/** Return the number that a text is; NaN for none, and for 12,5 and 1,250, which may be 1250 or 1.25. */
function asNumber(text) {
  const plain = text.trim();
  return NUMBER.test(plain) ? Number(plain) : NaN;
}

/** Return the bytes of the file of the channel, which lies beside this one under the same name. */
async function beside() {
  const url = new URL(import.meta.url.replace(/\.mjs(?=$|[?#])/, ".json"));
  if (url.protocol === "file:") {
    const system = "node:fs/promises"; // fetch of Node reads no files
    return (await import(/* @vite-ignore */ /* webpackIgnore: true */ system)).readFile(url);
  }
  const answer = await fetch(url);
  if (!answer.ok) throw new Error(`${url} cannot be read: ${answer.status} ${answer.statusText}.`);
  return answer.arrayBuffer();
}

/** Return the SHA-256 of bytes as hexadecimal digits. */
async function digest(bytes) {
  if (!globalThis.crypto?.subtle) throw new Error("The channel cannot be checked on a page without https.");
  const hash = new Uint8Array(await globalThis.crypto.subtle.digest("SHA-256", bytes));
  return Array.from(hash, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** Return the running sums of a row of weights, which are whole numbers in one text. */
function runningSums(row) {
  let sum = 0n;
  return row.split(" ").map((digits) => (sum += BigInt(digits)));
}
