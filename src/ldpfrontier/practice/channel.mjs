// Draws reports from the channel that it was written beside, in a browser or in Node (20 or newer), without a
// dependency.
//
//     import { reporter } from "./channel.mjs";
//     const report = await reporter(await (await fetch("channel.json")).arrayBuffer());
//     report({ illness: "no", region: "north" });  // such as "y3"
//
// Each person reports once: two reports tell twice as much.

/** The SHA-256 of the only channel file that is used. */
const CHANNEL = "the SHA-256 of channel.json";

const BITS = 62n;

/** Eight bytes of the operating system, which are fit for secrets. */
const secure = () => globalThis.crypto.getRandomValues(new Uint8Array(8));

/**
 * Return a promise of a function from a record, an object with a text for every column of the channel, to its report.
 *
 * `file` has the bytes of channel.json. `random` returns eight bytes; anything but the default is no protection.
 * An Error is thrown if the file is not the one that this sampler was written beside, or a record is none that the
 * channel knows.
 */
export async function reporter(file, random = secure) {
  const found = await digest(file);
  if (found !== CHANNEL) {
    throw new Error(`This is not the file of the channel: its SHA-256 is ${found}, and that of the channel is ${CHANNEL}.`);
  }
  const channel = JSON.parse(new TextDecoder().decode(file));
  const { sensitive, useful, rows, columns } = channel.design;
  const attributes = [...sensitive, ...useful];
  const thresholds = channel.weights.map(runningSums);
  const places = new Map();
  for (const row of rows) {
    for (const column of columns) places.set(JSON.stringify([...row, ...column]), places.size);
  }
  return (record) => {
    const place = places.get(JSON.stringify(attributes.map((name) => record[name])));
    if (place === undefined) {
      throw new Error(`The channel does not know this record; it needs ${attributes.join(", ")} as texts.`);
    }
    return channel.outputs[drawn(thresholds[place], random())];
  };
}

/** Return the SHA-256 of bytes as hexadecimal digits. */
async function digest(bytes) {
  if (!globalThis.crypto?.subtle) throw new Error("The channel cannot be checked on a page without https.");
  const hash = new Uint8Array(await globalThis.crypto.subtle.digest("SHA-256", bytes));
  return Array.from(hash, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** Return the number of an output: of thresholds that are not above the number that eight bytes are. */
function drawn(thresholds, bytes) {
  const view = new DataView(bytes.buffer, bytes.byteOffset, 8);
  const number = view.getBigUint64(0, true) >> (64n - BITS);
  return thresholds.reduce((count, threshold) => count + (threshold <= number ? 1 : 0), 0);
}

/** Return the running sums of a row of weights, which are whole numbers in one text. */
function runningSums(row) {
  let sum = 0n;
  return row.split(" ").map((digits) => (sum += BigInt(digits)));
}
