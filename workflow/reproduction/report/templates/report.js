// Filters by paper, verdict and text; their state is in the address. Without scripts everything is shown.
const form = document.querySelector(".filters"), fields = [...form.querySelectorAll("select, input")];
const items = [...document.querySelectorAll(".item")], groups = [...document.querySelectorAll(".group")].reverse();
const cards = items.filter((item) => item.classList.contains("claim"));
const narrow = matchMedia("(max-width: 40rem)");
const names = Object.fromEntries([...form.querySelectorAll("[name=paper] option")].map((x) => [x.value, x.textContent]));

// Letters without their accents, and formulas as they are typed: e^ε, e^{ε} and e^\varepsilon are all e^eps.
const greek = { ε: "eps", ϵ: "eps", α: "alpha", β: "beta", δ: "delta", ρ: "rho", θ: "theta", μ: "mu", "∞": "inf" };
const typed = (text) => text.toLowerCase().normalize("NFD").replace(/[\u0300-\u036f]/g, "")
  .replace(/[εϵαβδρθμ∞]/g, (sign) => greek[sign]).replace(/\\?(var)?epsilon/g, "eps").replace(/[{}\\]/g, "");
// A formula is found as it looks and by its LaTeX, and an item by the name of its paper as well.
const texts = new Map(items.map((item) => [item, typed([item.textContent, item.id, item.dataset.paper,
  names[item.dataset.paper], ...[...item.querySelectorAll("math")].map((x) => x.getAttribute("alttext"))].join(" "))]));
// What is between quotation marks is one word; a number is found as a whole.
const split = (text) => [...typed(text).matchAll(/"([^"]+)"?|([^\s"]+)/g)].map((found) => found[1] ?? found[2]);
const has = (text, word) => {
  if (!/^[\d.]*\d$/.test(word)) return text.includes(word);
  return new RegExp(`(?<![\\d.])${word.replaceAll(".", "\\.")}(?![\\d]|\\.\\d)`).test(text);
};

function filter() {
  const { paper, verdict, q } = Object.fromEntries(fields.map((field) => [field.name, field.value]));
  const words = split(q), asked = Boolean(verdict || words.length);
  for (const item of items) {
    const { dataset } = item;
    item.hidden = (paper && dataset.paper !== paper) || (verdict && dataset.verdict !== verdict)
      || !words.every((word) => has(texts.get(item), word));
  }
  // A claim brings its figure with it.
  for (const figure of document.querySelectorAll("figure.item"))
    if (figure.hidden && figure.parentElement.querySelector(".claim:not([hidden])")) figure.hidden = false;
  // No heading without anything below it; innermost groups come first.
  for (const group of groups) group.hidden = !group.querySelector(".item:not([hidden])");
  // On a phone what is long is folded, until something is looked for.
  for (const part of document.querySelectorAll(".fold")) part.open = asked || Boolean(paper) || !narrow.matches;
  for (const part of document.querySelectorAll(".settings")) part.open = Boolean(words.length);
  document.querySelector(".rest").hidden = asked;
  const found = cards.filter((card) => !card.hidden).length;
  form.querySelector("output").textContent = `${found} of ${cards.length} claims`;
  document.getElementById("nothing").hidden = items.some((item) => !item.hidden);
}

function read(query) {
  const asked = new URLSearchParams(query);
  for (const field of fields) field.value = asked.get(field.name) ?? "";
  for (const field of fields) if (field.value !== (asked.get(field.name) ?? "")) field.value = "";
  filter();
}

function remember() {
  const asked = new URLSearchParams();
  for (const field of fields) if (field.value) asked.set(field.name, field.value);
  history.replaceState(null, "", `?${asked}${location.hash}`);
  filter();
}

// What a link leads to is shown, whatever the filters say; they stay as they are.
function reveal() {
  const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  if (!target || !target.closest("[hidden], details:not([open])")) return;
  for (let part = target; part; part = part.parentElement) {
    part.hidden = false;
    if (part.matches("details")) part.open = true;
  }
  target.scrollIntoView();
}

form.addEventListener("input", remember);
form.addEventListener("submit", (event) => event.preventDefault());
form.addEventListener("reset", () => setTimeout(remember));
addEventListener("popstate", () => { read(location.search); reveal(); });
for (const link of document.querySelectorAll("a.pick"))
  link.addEventListener("click", (event) => {
    if (event.metaKey || event.ctrlKey || event.shiftKey) return;
    event.preventDefault();
    const address = new URL(link.href);
    history.pushState(null, "", address.search + address.hash);
    read(address.search);
    document.querySelector(".counts").scrollIntoView();
  });
addEventListener("hashchange", reveal);

// The contents: a column where there is room, else a list that opens and closes; where the reader is stands out.
const contents = document.querySelector(".contents"), roomy = matchMedia("(min-width: 75rem)");
const arrange = () => { contents.open = roomy.matches; };
roomy.addEventListener("change", arrange);
arrange();
contents.addEventListener("click", (event) => {
  const link = event.target.closest("a");
  if (!link) return;
  arrange();
  // Also if the address does not change: what was folded since is opened again.
  if (link.hash === location.hash) reveal();
});
const links = new Map([...contents.querySelectorAll("a")].map((link) => [link.hash.slice(1), link]));
const places = [...document.querySelectorAll("h2[id]")].filter((heading) => links.has(heading.id));
function follow() {
  const passed = places.filter((place) => place.offsetParent && place.getBoundingClientRect().top < innerHeight / 3);
  for (const link of links.values()) link.removeAttribute("aria-current");
  const here = passed.length && links.get(passed.at(-1).id);
  if (here) here.setAttribute("aria-current", "true");
}
let waiting = false;
addEventListener("scroll", () => {
  if (!waiting) requestAnimationFrame(() => { waiting = false; follow(); });
  waiting = true;
}, { passive: true });

// What scrolls sideways can be reached with the keyboard.
function reach() {
  for (const part of document.querySelectorAll(".scroll"))
    part.toggleAttribute("tabindex", false), part.scrollWidth > part.clientWidth + 1 && (part.tabIndex = 0);
}
addEventListener("resize", reach);
document.addEventListener("toggle", reach, true);

// Figures, enlarged: in full size to pan around, or as a whole.
const large = document.getElementById("large"), pan = large.querySelector(".pan");
const size = large.querySelector("[value=size]");
const fit = (whole) => {
  pan.classList.toggle("fit", whole);
  size.textContent = whole ? "Actual size" : "Fit to window";
};
for (const link of document.querySelectorAll(".enlarge"))
  link.addEventListener("click", (event) => {
    event.preventDefault();
    const image = link.querySelector("img");
    Object.assign(large.querySelector("img"), { src: image.src, alt: image.alt });
    const caption = link.closest("figure").querySelector("figcaption").cloneNode(true);
    large.querySelector("p").replaceChildren(...caption.childNodes);
    fit(innerWidth >= 1024);
    large.showModal();
  });
const resize = () => fit(!pan.classList.contains("fit"));
size.addEventListener("click", resize);
pan.addEventListener("click", resize);

// On paper nothing can be opened; what the configuration says and how claims were decided is left out.
let closed = [];
addEventListener("beforeprint", () => {
  closed = [...document.querySelectorAll(".fold:not([open])")];
  for (const part of closed) part.open = true;
});
addEventListener("afterprint", () => { for (const part of closed) part.open = false; });

// Where no font for mathematics is installed, browsers raise exponents too far.
const power = document.querySelector("main msup");
if (power) {
  const [base, exponent] = [...power.children].map((part) => part.getBoundingClientRect().bottom);
  const raised = (base - exponent) / parseFloat(getComputedStyle(power).fontSize);
  document.documentElement.classList.toggle("plain", raised > 0.5);
}

form.hidden = false;
read(location.search);
reveal();
reach();
follow();
