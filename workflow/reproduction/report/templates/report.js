// Filters by paper, verdict and text; their state is in the address. Without scripts everything is shown.
const form = document.querySelector(".filters"), fields = [...form.querySelectorAll("select, input")];
const items = [...document.querySelectorAll(".item")], groups = [...document.querySelectorAll(".group")].reverse();
const cards = items.filter((item) => item.classList.contains("claim"));
// A formula is found as it looks and by its LaTeX, and a figure by its caption alone.
const texts = new Map(items.map((item) => [item, [item.textContent, item.id,
  [...item.querySelectorAll("math")].map((formula) => formula.getAttribute("alttext")).join("")].join(" ").toLowerCase()]));

function filter() {
  const { paper, verdict, q } = Object.fromEntries(fields.map((field) => [field.name, field.value]));
  const words = q.toLowerCase().split(/\s+/).filter(Boolean), asked = Boolean(verdict || words.length);
  for (const item of items) {
    const { dataset } = item;
    item.hidden = (paper && dataset.paper !== paper) || (verdict && dataset.verdict !== verdict)
      || !words.every((word) => texts.get(item).includes(word));
  }
  // A claim brings its figure with it.
  for (const figure of document.querySelectorAll("figure.item"))
    if (figure.hidden && figure.parentElement.querySelector(".claim:not([hidden])")) figure.hidden = false;
  // No heading without anything below it; innermost groups come first.
  for (const group of groups) group.hidden = !group.querySelector(".item:not([hidden])");
  for (const details of document.querySelectorAll("details")) details.open = Boolean(words.length);
  document.querySelector(".rest").hidden = asked;
  const found = cards.filter((card) => !card.hidden).length;
  form.querySelector("output").textContent = `${found} of ${cards.length} claims`;
  document.querySelector(".ledger").hidden = !found;
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
  if (!target || !target.closest("[hidden]")) return;
  for (let part = target; part; part = part.parentElement) part.hidden = false;
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

// Figures, enlarged: in full size to pan around, or as a whole.
const large = document.getElementById("large"), pan = large.querySelector(".pan");
for (const link of document.querySelectorAll(".enlarge"))
  link.addEventListener("click", (event) => {
    event.preventDefault();
    const image = link.querySelector("img");
    Object.assign(large.querySelector("img"), { src: image.src, alt: image.alt });
    const caption = link.closest("figure").querySelector("figcaption").cloneNode(true);
    large.querySelector("p").replaceChildren(...caption.childNodes);
    pan.classList.toggle("fit", innerWidth >= 1024);
    large.showModal();
  });
const resize = () => pan.classList.toggle("fit");
large.querySelector("[value=size]").addEventListener("click", resize);
pan.addEventListener("click", resize);

// On paper nothing can be opened.
let closed = [];
addEventListener("beforeprint", () => {
  closed = [...document.querySelectorAll("details:not([open])")];
  for (const details of closed) details.open = true;
});
addEventListener("afterprint", () => { for (const details of closed) details.open = false; });

// Where no font for mathematics is installed, browsers raise exponents too far.
const power = document.querySelector("msup");
if (power) {
  const [base, exponent] = [...power.children].map((part) => part.getBoundingClientRect().bottom);
  const raised = (base - exponent) / parseFloat(getComputedStyle(power).fontSize);
  document.documentElement.classList.toggle("plain", raised > 0.5);
}

form.hidden = false;
read(location.search);
reveal();
