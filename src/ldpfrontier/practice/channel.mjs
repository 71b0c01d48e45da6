// Draws reports from a channel of ldp-frontier, in a browser or in Node (20 or newer), without a dependency.
//
//     import { reporter } from "./channel.mjs";
//     const report = reporter(await (await fetch("channel.json")).json());
//     report({ illness: "no", region: "north" });  // such as "y3"
//
// Each person reports once: two reports tell twice as much.

const BITS = 62n;
const TOTAL = 1n << BITS;

/** Eight bytes of the operating system, which are fit for secrets. */
const secure = () => globalThis.crypto.getRandomValues(new Uint8Array(8));

/**
 * Return a function from a record, an object with a text for every column of the channel, to its report.
 *
 * `channel` is what channel.json has. `random` returns eight bytes; anything but the default is no protection.
 * An Error is thrown if the channel is none, or a record is none that the channel knows.
 */
export function reporter(channel, random = secure) {
  if (channel?.format !== "ldp-frontier channel" || BigInt(channel.bits) !== BITS) {
    throw new Error(`This is no channel of ldp-frontier with probabilities in multiples of 2^-${BITS}.`);
  }
  const { sensitive, useful, rows, columns } = channel.design;
  const attributes = [...sensitive, ...useful];
  const thresholds = channel.weights.map(runningSums);
  const places = new Map();
  for (const row of rows) {
    for (const column of columns) places.set(JSON.stringify([...row, ...column]), places.size);
  }
  if (places.size !== thresholds.length || thresholds.some((row) => row.length !== channel.outputs.length)) {
    throw new Error("The weights of the channel do not fit its labels.");
  }
  return (record) => {
    const place = places.get(JSON.stringify(attributes.map((name) => record[name])));
    if (place === undefined) {
      throw new Error(`The channel does not know this record; it needs ${attributes.join(", ")} as texts.`);
    }
    return channel.outputs[drawn(thresholds[place], random())];
  };
}

/** Return the number of an output: of thresholds that are not above the number that eight bytes are. */
function drawn(thresholds, bytes) {
  const view = new DataView(bytes.buffer, bytes.byteOffset, 8);
  const number = view.getBigUint64(0, true) >> (64n - BITS);
  return thresholds.reduce((count, threshold) => count + (threshold <= number ? 1 : 0), 0);
}

/** Return the running sums of a row of weights, which are whole numbers in one text. */
function runningSums(row) {
  const sums = [];
  let sum = 0n;
  for (const digits of row.split(" ")) {
    if (!/^[0-9]+$/.test(digits)) throw new Error(`A weight of the channel is '${digits}'; it must be a whole number.`);
    sum += BigInt(digits);
    sums.push(sum);
  }
  if (sum !== TOTAL) throw new Error(`A row of weights sums to ${sum}; it must sum to 2^62.`);
  return sums;
}
