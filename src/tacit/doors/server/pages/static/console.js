"use strict";
// What a page does beyond its forms: the price while a question is typed, names that are inserted, texts that are copied.
// Every text goes into the page as text; the policy of the page allows nothing else.

document.documentElement.classList.add("has-script");
const element = (id) => document.getElementById(id);
const form = element("ask");
const PAUSE = 250; // milliseconds without a key before a price is asked for

// ---- the question: a plain field, or the editor where it was built ------------------------------------------------------------

const field = element("sql");
const editor = window.tacitEditor
  ? window.tacitEditor(field, { words: JSON.parse(form.dataset.words), nonce: form.dataset.nonce, changed: () => typed() })
  : null;

function insert(text) {
  if (editor) {
    editor.insert(text);
    return;
  }
  field.focus();
  field.setRangeText(text, field.selectionStart, field.selectionEnd, "end");
  typed();
}

// ---- the price: one request at a time, the latest text last -------------------------------------------------------------------

let timer = 0;
let busy = false;
let again = false;

function typed() {
  element("spend").disabled = true;
  clearTimeout(timer);
  timer = setTimeout(price, PAUSE);
}

async function price() {
  if (busy) {
    again = true;
    return;
  }
  busy = true;
  again = false;
  element("price").textContent = form.dataset.waiting;
  const stop = new AbortController();
  const late = setTimeout(() => stop.abort(), 20000);
  try {
    const reply = await fetch("/price", { method: "POST", body: new URLSearchParams(new FormData(form)), signal: stop.signal });
    if (reply.status === 401) return form.requestSubmit(element("check")); // the page that asks to log in keeps the question
    if (!reply.ok) throw new Error("no price");
    if (!again) show(await reply.json());
  } catch {
    element("price").textContent = form.dataset.lost;
    element("spend").disabled = false;
  } finally {
    clearTimeout(late);
    busy = false;
    if (again) price();
  }
}

function show({ price, refusal, place }) {
  const refused = refusal.message !== undefined;
  element("price").textContent = refused ? [refusal.message, refusal.remedy].filter(Boolean).join(": ") : price.line;
  element("price-line").classList.toggle("no", refused || !price.fits);
  element("spend").textContent = refused ? form.dataset.notPriced : price.button;
  element("spend").disabled = refused || !price.fits;
  field.toggleAttribute("aria-invalid", refused);
  if (refused) field.setAttribute("aria-invalid", "true");
  element("curve").hidden = refused || !price.path;
  if (!refused && price.path) element("curve-line").setAttribute("d", price.path);
  remedy(refusal);
  if (element("refusal")) element("refusal").hidden = true;
  if (editor) editor.mark(place);
}

// The remedy as a button: the same question with the word that was meant, or with an epsilon that fits.
function remedy({ mended, use, epsilon }) {
  const button = element("mend");
  button.hidden = !mended && !epsilon;
  if (button.hidden) return;
  button.textContent = mended ? form.dataset.use.replace("{word}", use) : form.dataset.useEpsilon.replace("{epsilon}", epsilon);
  button.onclick = () => {
    button.hidden = true;
    if (mended) write(mended);
    else element("epsilon").value = epsilon;
    typed();
  };
}

function write(text) {
  if (editor) editor.write(text);
  else field.value = text;
}

// ---- what is clicked ----------------------------------------------------------------------------------------------------------

if (form) {
  for (const each of form.querySelectorAll("input, textarea")) {
    each.addEventListener("input", () => {
      const kind = form.querySelector(`input[name="kind"][value="${each.name}"]`);
      if (kind) kind.checked = true; // a number that is typed is the budget that is meant
      typed();
    });
  }
  const changed = (each) => each.value !== each.defaultValue || each.checked !== each.defaultChecked;
  if ([...form.querySelectorAll("input, textarea")].some(changed)) typed(); // before this script ran
  let sent = false;
  form.addEventListener("submit", (event) => {
    if (sent) event.preventDefault(); // the second click of a double click; the key of the form would make it one all the same
    sent = true;
  });
  window.addEventListener("pageshow", () => (sent = false));
  form.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey) && !element("spend").disabled) form.requestSubmit(element("spend"));
  });
  if (editor && form.dataset.from) editor.mark([Number(form.dataset.from), Number(form.dataset.to)]);
}
for (const each of document.querySelectorAll("[data-insert]")) each.addEventListener("click", () => insert(each.dataset.insert));
for (const each of document.querySelectorAll("[data-copy]")) {
  each.addEventListener("click", async () => {
    await navigator.clipboard.writeText(each.parentElement.querySelector("code").textContent);
    each.textContent = form.dataset.copied;
  });
}
