// ---- the page: what was answered stays in these variables, and in the fields of the form -----------------------------------

// ---- the secret: 32 random bytes, kept on this device unless it is shared or keeps nothing ---------------------------------

const place = `tacit survey ${survey.id}`;

function keptSecret() {
  try {
    const kept = localStorage.getItem(place);
    return kept !== null && /^[0-9a-f]{64}$/.test(kept) ? bytesOf(kept) : null;
  } catch {
    return null;
  }
}

// A browser that keeps nothing draws anew at the next visit: people are told.
function keep(secret) {
  try {
    if (secret === null) localStorage.removeItem(place);
    else localStorage.setItem(place, hexOf(secret));
  } catch {
    // Seen by `tellKept`.
  }
  tellKept();
}

const tellKept = () => (element("keeps").textContent = keptSecret() === null ? texts.forgets : texts.keeps);

// Two pages that were opened at the same moment drew a secret each: both go on with the one that is kept.
function followKept() {
  const kept = sent || element("shared").checked ? null : keptSecret();
  if (kept === null || hexOf(kept) === hexOf(secret)) return;
  secret = kept;
  ask();
  back();
}

function pseudonym(secret) {
  return hexOf(hmac(secret, joined(field("tacit person 1"), field(survey.id)))).slice(0, 32);
}

// ---- answers ----------------------------------------------------------------------------------------------------------------

const fieldsOf = (id) => Array.from(element("form").querySelectorAll(`[data-question="${id}"] input`));
const chosen = (id) => fieldsOf(id).filter((input) => input.checked).map((input) => Number(input.value));

// The answer as a code, or an error to show.
const READ = {
  "yes/no": (question) => chosen(question.id)[0] ?? { error: texts.missing_choice },
  "choice": (question) => chosen(question.id)[0] ?? { error: texts.missing_choice },
  "set": (question) => {
    const codes = chosen(question.id);
    return codes.length <= question.at_most ? codes : { error: filled(texts.too_many, { count: question.at_most }) };
  },
  "number": (question) => {
    const input = fieldsOf(question.id)[0];
    const value = input.value.trim() === "" ? NaN : Number(input.value);
    const inside = value >= question.lower && value <= question.upper;
    if (inside) return Math.round((value - question.lower) / question.step);
    return { error: filled(texts.missing_number, { lower: format.format(question.lower), upper: format.format(question.upper) }) };
  },
};

const amount = (question, code) => {
  const value = format.format(question.lower + code * question.step);
  return question.unit ? `${value} ${question.unit}` : value;
};

const ANSWERED = {
  "yes/no": (question, code) => question.options[code],
  "choice": (question, code) => question.options[code],
  "set": (question, codes) => codes.map((code) => question.options[code]).join(", ") || texts.none,
  "number": amount,
};

// ---- the report -------------------------------------------------------------------------------------------------------------

let secret = null;
let report = "";
let sent = false; // or on its way
let wait = null; // until it can be sent
let oneStep = false; // whether the browser's way back leads from the report to the answers, and not farther

function asked() {
  if (survey.share !== "sample") return survey.questions;
  return [survey.questions[new Coins(secret, survey.stream, "", "which question").below(survey.questions.length)]];
}

// The questions that this secret asks are shown, and no others.
function ask() {
  const shown = new Set(asked().map((question) => question.id));
  for (const { id } of survey.questions) document.querySelector(`[data-question="${id}"]`).hidden = !shown.has(id);
}

// While somebody answers, an error goes away with its reason; too many of a set are told at once.
function answering(event) {
  const id = event.target.closest("[data-question]").dataset.question;
  const question = survey.questions.find((each) => each.id === id);
  const error = question ? READ[question.kind](question).error ?? "" : "";
  if (!error || question.kind === "set") complain(id, error);
}

function readAll() {
  const found = asked().map((question) => [question, READ[question.kind](question)]);
  if (survey.group) found.push([{ id: "group" }, chosen("group")[0] ?? { error: texts.missing_choice }]);
  const wrong = found.filter(([question, value]) => complain(question.id, value?.error ?? ""));
  element("form").querySelector('[aria-invalid="true"]')?.focus(); // the first on the page
  return wrong.length ? null : found;
}

function complain(id, error) {
  const line = element(`${id}-error`);
  line.textContent = error;
  line.hidden = !error;
  for (const input of fieldsOf(id)) {
    if (error) input.setAttribute("aria-invalid", "true");
    else input.removeAttribute("aria-invalid");
  }
  return error;
}

function show() {
  const found = readAll();
  if (found === null) return;
  const group = survey.group ? { group: found.pop()[1] } : {};
  const first = survey.group ? [plainCard(survey.group, group.group)] : [];
  const drawn = ({ how, id }, value) => permanent(how, value, secret, survey.stream, id);
  const answers = found.map(([question, value]) => [question, value, drawn(question, value)]);
  report = JSON.stringify({
    tacit: "survey report 1", survey: survey.id, form: survey.form, person: pseudonym(secret), ...group,
    answers: Object.fromEntries(answers.map(([question, , told]) => [question.id, told])),
  });
  element("answers").replaceChildren(...first, ...answers.map((answer) => card(...answer)));
  element("report").textContent = report;
  tell("");
  element("code").hidden = true;
  review();
  document.querySelectorAll(".outcomes").forEach(toDrawn);
}

// A long list is scrolled to what was drawn.
function toDrawn(list) {
  list.scrollTop = (list.querySelector(".drawn")?.offsetTop ?? 0) - list.offsetTop - 90;
}

function turn(reviewing) {
  element("form").hidden = reviewing;
  element("review").hidden = !reviewing;
  document.querySelectorAll(".about, #promise").forEach((each) => (each.hidden = reviewing));
  (reviewing ? element("review-title") : fieldsOf(survey.group ? "group" : asked()[0].id)[0]).focus();
  window.scrollTo(0, 0);
}

// The browser's way back leads from what would be sent to the answers, and not off the page.
function review() {
  history.pushState(null, "");
  oneStep = true;
  turn(true);
  waitToSend();
}

// The second of two quick clicks was meant for the button before: nobody sends what they have not seen.
function waitToSend() {
  const button = element("send");
  if (button === null) return;
  button.disabled = true;
  clearTimeout(wait);
  wait = setTimeout(() => (button.disabled = sent), TWO_CLICKS);
}

function back() {
  if (!element("review").hidden && !sent) turn(false);
}

// Whoever went back while the report was on its way stays here, and a second step would lead off the page.
function change() {
  if (oneStep) history.back();
  else back();
}

const closingDay = () =>
  new Intl.DateTimeFormat(survey.language, { dateStyle: "long", timeZone: "UTC" }).format(new Date(survey.closes));

function begin() {
  element("no-script").hidden = true;
  element("closes").textContent = filled(texts.closes, { date: closingDay() });
  const strength = { ratio: format.format(survey.ratio), epsilon: format.format(survey.epsilon) };
  element("strength").textContent = filled(texts.strength, strength);
  secret = keptSecret();
  element("shared").addEventListener("change", (event) => { followKept(); keep(event.target.checked ? null : secret); });
  if (Date.now() >= survey.open_until) return stop(filled(texts.closed, { date: closingDay() }));
  if (!globalThis.crypto?.getRandomValues) return stop(texts.no_random);
  secret ??= freshSecret();
  keep(secret);
  ask();
  element("form").hidden = false;
  element("form").reset();
  listen();
}

function listen() {
  element("form").addEventListener("submit", (event) => { event.preventDefault(); followKept(); show(); });
  element("form").addEventListener("input", answering);
  const actions = { save, copy, change, send };
  Object.entries(actions).forEach(([id, act]) => element(id)?.addEventListener("click", act));
  addEventListener("popstate", () => { oneStep = false; back(); });
  addEventListener("storage", () => { followKept(); tellKept(); });
}

// A browser that goes back can bring a left page back as it was, with the answers on it: the next person would see them.
addEventListener("pageshow", (event) => { if (event.persisted) location.reload(); });

// There is nothing to answer; what an earlier visit left can still be removed.
function stop(words) {
  element("notice").textContent = words;
  element("notice").hidden = false;
  element("closes").hidden = element("promise").hidden = true;
  element("kept").hidden = secret === null;
}

begin();
