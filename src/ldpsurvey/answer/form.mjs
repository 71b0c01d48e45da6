// The page for those who answer. It draws the report on their device, shows it, and gives it away when they
// say so. What is imported here is put before it by `page.py`, which makes one file of all.

import { reporter } from "./channel.mjs";
import { encode } from "./codes.mjs";
import { generate } from "./lean-qr/nano.mjs";

const at = (id) => document.getElementById(id);
const data = JSON.parse(at("data").textContent);
const { words, questions } = data;
const form = at("form");
const fieldsets = [...form.querySelectorAll("fieldset")];

/** Where a device keeps what it has of this channel, and of this wave. */
const PLACE = `${data.channel} `;
const KEY = PLACE + data.wave;

/** The storage of this device; null if it is blocked, or if the device is for many people. */
let storage = null;

/** What is kept of this wave: the report and whether it was sent, or the lot before; null if there is nothing. */
let kept = null;

/** How many reports this device has by this channel. */
let given = 0;

/** The places of the answers, until the report is given away or the page is loaded again; then null. */
let own = null;

/** Tells other pages of this channel and wave that something has changed. */
const others = new BroadcastChannel(`ldp-frontier ${KEY}`);

let draw, channel;

async function begin() {
  if (!globalThis.isSecureContext) return warn(words.insecure);
  const bytes = Uint8Array.from(atob(at("channel").textContent), (letter) => letter.charCodeAt(0));
  draw = await reporter(bytes);
  channel = JSON.parse(new TextDecoder().decode(bytes));
  storage = data.kiosk ? null : await opened();
  if (!storage && !data.kiosk) warn(words.blocked);
  // By chance alone, and once: whoever loads the page again is asked the same questions.
  await change(() => (kept || !draw.draw ? null : { lot: draw.draw() }));
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    answer().catch(fail);
  });
  // What the page says of the answers must be gone before somebody else may see it.
  for (const id of ["send", "copy", "download", "read_out"]) at(id)?.addEventListener("click", forget);
  addEventListener("beforeprint", forget);
  at("copy").addEventListener("click", copy);
  at("download").addEventListener("click", download);
  at("send")?.addEventListener("click", send);
  at("next")?.addEventListener("click", () => location.reload());
  const again = () => change().then(show, fail);
  others.addEventListener("message", again);
  addEventListener("pageshow", ({ persisted }) => {
    if (persisted) data.kiosk ? location.reload() : again();
  });
  show();
}

/** Draw a report from the answers, unless this device has one. */
async function answer() {
  const places = fieldsets.map((part, j) => (part.disabled ? -1 : Number(form.elements[`q${j}`].value)));
  at("wrong").hidden = cellOf(places) >= 0;
  if (!at("wrong").hidden) return;
  const answered = questions.flatMap(({ column, values }, j) =>
    places[j] < 0 ? [] : [[column, values[places[j]]]],
  );
  let drawn = null;
  await change(() => {
    // Another page may have been quicker.
    if (kept?.report || isSpent()) return null;
    drawn = places;
    return { report: draw(Object.fromEntries(answered), kept?.lot), sent: false };
  });
  own = drawn;
  form.reset();
  show();
  at("own").focus();
}

function forget() {
  own = null;
  show();
}

function show() {
  const { report, sent, lot } = kept ?? {};
  form.hidden = Boolean(report) || isSpent();
  at("report").hidden = !report;
  if (isSpent()) warn(say("spent", { reports: data.reports }));
  fieldsets.forEach((part, j) => (part.hidden = part.disabled = Boolean(lot) && !lot.asked.includes(j)));
  if (!report) return;
  at("exactly").textContent = submission();
  at("code").textContent = encode(channel, report);
  at("told").replaceChildren(...(channel.lots ? toldByList(report) : toldByTable(report)));
  for (const id of ["eyes", "read_out"]) at(id).hidden = !own;
  at("codes").hidden = Boolean(own) || sent;
  // What was sent must not come in another way again.
  at("ways").hidden = sent;
  at("qr").querySelector("svg")?.remove();
  at("qr").append(camera(submission()));
  at("status").textContent = sent ? words.sent : "";
  if (at("send")) at("send").disabled = false;
}

// What is kept ----------------------------------------------------------------------------------------------

/** Return a promise of the storage of this device; null if it is blocked. */
function opened() {
  return new Promise((resolve) => {
    try {
      const asked = indexedDB.open("ldp-frontier", 1);
      asked.onupgradeneeded = () => asked.result.createObjectStore("reports");
      asked.onsuccess = () => resolve(asked.result);
      asked.onerror = () => resolve(null);
    } catch {
      resolve(null);
    }
  });
}

/**
 * Read what is kept and, if a function returns something, keep that instead. No other page can do anything between:
 * a storage that may show what another page has just replaced would let two pages draw.
 */
function change(work = () => null) {
  if (!storage) {
    kept = work() ?? kept;
    return Promise.resolve();
  }
  return new Promise((resolve, reject) => {
    const transaction = storage.transaction("reports", "readwrite", { durability: "strict" });
    const reports = transaction.objectStore("reports");
    const all = reports.getAll(IDBKeyRange.bound(PLACE, `${PLACE}\uffff`));
    const one = reports.get(KEY);
    let next = null;
    one.onsuccess = () => {
      kept = one.result ?? null;
      given = all.result.filter(({ report }) => report).length;
      next = work();
      if (next) reports.put(next, KEY);
    };
    transaction.oncomplete = () => {
      if (next) others.postMessage(null);
      kept = next ?? kept;
      resolve();
    };
    transaction.onabort = () => reject(transaction.error);
  });
}

/** Tell whether this device has given all the reports that are allowed, and none of this wave. */
const isSpent = () => Boolean(storage && data.reports && !kept?.report && given >= data.reports);

// What is given away ----------------------------------------------------------------------------------------

const submission = () => JSON.stringify({ channel: data.channel, report: kept.report });

async function send() {
  let problem = null;
  at("send").disabled = true;
  const once = async () => {
    await change();
    if (kept.sent) return;
    const answered = await fetch(data.post, {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: submission(),
      credentials: "omit",
      referrerPolicy: "no-referrer",
      redirect: "error",
      cache: "no-store",
    });
    if (!answered.ok) throw new Error(`${answered.status} ${answered.statusText}`.trim());
    await change(() => ({ ...kept, sent: true }));
  };
  try {
    // One page after the other; without a storage there is no other one.
    await (storage && navigator.locks ? navigator.locks.request(KEY, once) : once());
  } catch (error) {
    problem = error;
  }
  show();
  if (problem) at("status").textContent = say("failed", { reason: problem.message });
}

async function copy() {
  try {
    await navigator.clipboard.writeText(submission());
    at("status").textContent = words.copied;
  } catch {
    getSelection().selectAllChildren(at("exactly"));
  }
}

function download() {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([`${submission()}\n`], { type: "application/json" }));
  link.download = `report-${data.channel}.json`;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

/** Return a QR code of a text, as a picture; nothing if it is too long for one. */
function camera(text) {
  try {
    const code = generate(text);
    const all = [...Array(code.size).keys()];
    const dots = all.flatMap((y) => all.filter((x) => code.get(x, y)).map((x) => `M${x} ${y}h1v1h-1z`));
    const picture = drawing("svg", { viewBox: `-4 -4 ${code.size + 8} ${code.size + 8}`, role: "img" });
    picture.setAttribute("aria-label", words.camera);
    picture.append(drawing("path", { d: dots.join(""), fill: "#000" }));
    return picture;
  } catch {
    at("qr").hidden = true;
    return "";
  }
}

// What it reveals -------------------------------------------------------------------------------------------

/** Say how many of those who answer in some way send this report. */
function toldByTable(report) {
  const y = channel.outputs.indexOf(report);
  if (!own) {
    const [base, ...ends] = data.people.any[y];
    return [listed([["any", base, ...ends]])];
  }
  const [base, told, ...others] = data.people.kinds[data.people.places[cellOf(own)][y]];
  const groups = data.people.groups.map((key, i) => [key, base, others[2 * i], others[2 * i + 1]]);
  return [listed([["own", base, told, told], ...groups])];
}

/** Show the list of answers that a report of a questionnaire is, and say who sends it. */
function toldByList(report) {
  const [lot, ...parts] = report.split("/");
  const place = Number(lot.slice(1)) - 1;
  const read = parts.map((part) => /^q([0-9]+)=(.*)$/.exec(part));
  const asked = read.map(([, question]) => Number(question) - 1);
  const images = read.map(([, , letters]) => [...letters].map((letter) => parseInt(letter, 36)));
  const isOn = (answers) => {
    const cell = answers.reduce((sum, v, axis) => sum * images[axis].length + images[axis][v], 0);
    return channel.lots[place].set[cell] === "1";
  };
  let every = [[]];
  for (const j of asked) every = every.flatMap((some) => questions[j].answers.map((_, v) => [...some, v]));
  const on = every.filter(isOn);
  const part = ({ name, answers }, v) => say("answer", { name, answer: answers[v] });
  const named = (some) => some.map((v, axis) => part(questions[asked[axis]], v)).join(", ");
  const list = element("ul", on.slice(0, data.most).map((some) => element("li", [named(some)])));
  list.className = "list";
  const left = on.length - data.most;
  const [base, inside, outside, times] = data.people[place];
  const mine = own ? [element("p", [isOn(asked.map((j) => own[j])) ? words.on_list : words.off_list])] : [];
  return [
    element("p", [words.list]),
    list,
    ...(left > 0 ? [element("p", [say("more", { n: number(left) })])] : []),
    ...mine,
    listed([["times", 100, times, times]], 100),
    element("p", [say("lists", { base: number(base), n: number(inside), m: number(outside) })]),
  ];
}

/** Return the place of answers among those that are possible together, 0 of a questionnaire; else -1. */
function cellOf(places) {
  if (data.cells) return data.cells.findIndex((cell) => cell.every((v, j) => v === places[j]));
  return data.impossible.some((rule) => rule.every(([j, some]) => some.includes(places[j]))) ? -1 : 0;
}

/** Return a list of sentences with a bar each; of a second one below if another number is given. */
function listed(rows, other) {
  const most = Math.max(1, other ?? 0, ...rows.map(([, , , high]) => high));
  const bar = (low, high) => {
    const box = { viewBox: "0 0 100 4", preserveAspectRatio: "none" };
    const picture = drawing("svg", { ...box, "aria-hidden": "true" });
    const [start, end] = [low, high].map((count) => (100 * count) / most);
    picture.append(drawing("rect", { class: "own", width: start, height: 4 }));
    picture.append(drawing("rect", { class: "some", x: start, width: end - start, height: 4 }));
    return picture;
  };
  const items = rows.map(([key, base, low, high]) => {
    const n = low === high ? number(low) : say("between", { low: number(low), high: number(high) });
    const names = { secret: data.secret, useful: data.useful };
    const second = other ? [bar(other, other)] : [];
    return element("li", [say(key, { base: number(base), n, ...names }), bar(low, high), ...second]);
  });
  return element("ul", items);
}

// Texts and elements ----------------------------------------------------------------------------------------

/** Return a text of the page with values in the places of names in braces. */
function say(key, values) {
  return words[key].replace(/\{(\w+)\}/g, (name, word) => values[word] ?? name);
}

/** Return a number of people in words; what is between 0 and 1 stands for fewer than one. */
function number(value) {
  return value > 0 && value < 1 ? words.few : value.toLocaleString(document.documentElement.lang);
}

function warn(sentence) {
  at("problem").textContent = sentence;
  at("problem").hidden = false;
  at("problem").scrollIntoView({ block: "nearest" });
}

function element(name, content) {
  const made = document.createElement(name);
  made.append(...content);
  return made;
}

function drawing(name, attributes) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", name);
  Object.entries(attributes).forEach(([key, value]) => made.setAttribute(key, value));
  return made;
}

function fail(error) {
  form.hidden = true;
  warn(say("problem", { reason: error.message }));
}

at("starting").hidden = false;
begin()
  .catch(fail)
  .finally(() => (at("starting").hidden = true));
