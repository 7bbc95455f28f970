// ---- the page: what was answered stays in these variables, and in the fields of the form -----------------------------------

const survey = JSON.parse(document.getElementById("survey").textContent);
const texts = survey.texts;
const element = (id) => document.getElementById(id);
const filled = (text, blanks) => Object.entries(blanks).reduce((whole, [name, value]) => whole.replaceAll(`{${name}}`, value), text);
const format = new Intl.NumberFormat(survey.language, { maximumFractionDigits: 6 });
const chance = ([top, bottom]) => Number((top * 1_000_000_000n) / bottom) / 1e9; // to be shown, never to be drawn with
const percent = (share) => `${new Intl.NumberFormat(survey.language, { maximumSignificantDigits: share > 0.1 ? 3 : 2 }).format(100 * share)}\u00a0%`;

function made(name, attributes = {}, ...children) {
  const node = document.createElement(name);
  Object.entries(attributes).forEach(([key, value]) => node.setAttribute(key, value));
  node.append(...children);
  return node;
}

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

function keep(secret) {
  try {
    if (secret === null) localStorage.removeItem(place);
    else localStorage.setItem(place, hexOf(secret));
  } catch {
    // A browser that keeps nothing draws anew at the next visit.
  }
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
    const wrong = { error: filled(texts.missing_number, { lower: format.format(question.lower), upper: format.format(question.upper) }) };
    return inside ? Math.round((value - question.lower) / question.step) : wrong;
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

// ---- what is sent, and what could have been: [words, probability, whether it was drawn] ------------------------------------

const SHOWN = {
  "k-ary": {
    sent: (question, report) => question.options[report],
    could: (question, how, value, report) =>
      question.options.map((option, code) => [option, chance(ratio(code === value ? how.hit : how.false_hit)), code === report]),
  },
  "unary": {
    sent: (question, report) => question.options.filter((_, code) => report[code] === "1").join(", ") || texts.none,
    could: (question, how, value, report) => marks(question.options, report, (code) => chance(ratio(code === value ? how.hit : how.false_hit))),
  },
  "set": {
    sent: (question, report) => typeof report === "number"
      ? question.options[report] ?? texts.blank
      : SHOWN.unary.sent(question, report),
    caption: (question) => (question.how.most > 1 ? filled(texts.set_drawn, { count: question.how.most }) : texts.could_be),
    could: (question, how, codes, report) => {
      const inner = how.inner;
      const seen = (held) => chance(ratio(inner.false_hit)) + (held ? (chance(ratio(inner.hit)) - chance(ratio(inner.false_hit))) / how.most : 0);
      if (typeof report === "string") return marks(question.options, report, (code) => seen(codes.includes(code)));
      const blanks = how.most * seen(false) + (how.most - codes.length) * (seen(true) - seen(false));
      return [...question.options.map((option, code) => [option, seen(codes.includes(code)), code === report]),
        [texts.blank, blanks, report >= how.size]];
    },
  },
  "one-bit": {
    sent: (question, report) => [texts.bit_low, texts.bit_high][report],
    could: (question, how, index, report) => {
      const odds = chance(ratio(how.ratio));
      const high = (1 + ((odds - 1) * index) / (how.points - 1)) / (odds + 1);
      return [[texts.bit_high, high, report === 1], [texts.bit_low, 1 - high, report === 0]];
    },
  },
  "piecewise": {
    sent: (question, report) => filled(texts.about_number, { value: level(question, report) }),
    could: (question, how, index, report) => {
      const near = chance(ratio(how.near));
      const likely = (code) => (code >= index && code < index + how.window ? near / how.window : 0) + (1 - near) / how.outputs;
      return Array.from({ length: how.outputs }, (_, code) => [level(question, code), likely(code), code === report]);
    },
  },
  "laplace": {
    sent: level,
    could: (question, how, index, report) => {
      const decay = chance(ratio(how.decay));
      const likely = (code) => (decay ** Math.abs(code - index) * (code % (how.points - 1) ? 1 - decay : 1)) / (1 + decay);
      return Array.from({ length: how.points }, (_, code) => [level(question, code), likely(code), code === report]);
    },
  },
};

// What a report of a number stands for, to be shown: evenly spaced, and with noise the ends hold all that is beyond them.
function level(question, code) {
  const [first, last] = question.ends;
  const count = question.how.outputs ?? question.how.points;
  const noisy = question.how.method === "laplace";
  const value = noisy ? question.lower + code * question.step : first + ((last - first) * code) / (count - 1);
  const rounded = new Intl.NumberFormat(survey.language, { maximumSignificantDigits: 3 }).format(value);
  const words = question.unit ? `${rounded} ${question.unit}` : rounded;
  if (!noisy || (code > 0 && code < count - 1)) return words;
  return filled(code ? texts.or_more : texts.or_less, { value: words });
}

function marks(options, report, probability) {
  return options.map((option, code) => {
    const hit = report[code] === "1";
    return [filled(hit ? texts.marked : texts.unmarked, { option }), hit ? probability(code) : 1 - probability(code), hit];
  });
}

// The public fact is shown for what it is: sent unchanged.
function plainCard(group, code) {
  const leaves = made("div", { class: "leaves" }, made("span", { class: "what" }, texts.is_sent), made("strong", {}, group.options[code]));
  return made("article", { class: "card", "data-answer": "group" }, made("h3", {}, group.ask),
    made("p", { class: "badge" }, texts.public), made("div", { class: "pair" }, leaves));
}

function card(question, value, report) {
  const shown = SHOWN[question.how.method];
  const could = shown.could(question, question.how, value, report);
  const answer = made("div", {}, made("span", { class: "what" }, `${texts.your_answer} · ${texts.stays}`), made("strong", {}, ANSWERED[question.kind](question, value)));
  const leaves = made("div", { class: "leaves" }, made("span", { class: "what" }, texts.is_sent), made("strong", {}, shown.sent(question, report)));
  return made("article", { class: "card", "data-answer": question.id },
    made("h3", {}, question.ask), made("div", { class: "pair" }, answer, leaves),
    made("p", { class: "could", id: `could-${question.id}` }, shown.caption?.(question, report) ?? texts.could_be),
    ...(question.kind === "number" && could.length > 12 ? spread(could) : [outcomes(could, question.id)]),
    made("p", { class: "fine" }, filled(texts.deny, { percent: format.format(question.deny) })));
}

function outcomes(could, id) {
  const list = made("ul", { class: "outcomes", "aria-labelledby": `could-${id}`, ...(could.length > 8 ? { tabindex: "0" } : {}) });
  for (const [words, likely, drawn] of could) {
    const bar = made("span", { class: "bar", "aria-hidden": "true" });
    bar.style.width = `${100 * likely}%`;
    list.append(made("li", drawn ? { class: "drawn" } : {}, bar, made("span", {}, words), made("span", { class: "percent" }, percent(likely))));
  }
  return list;
}

// Many outcomes as columns, the one that was drawn in another colour; neighbours share a column where there are more than 60.
function spread(could) {
  const together = Math.ceil(could.length / 60);
  const columns = Array.from({ length: Math.ceil(could.length / together) }, (_, at) => could.slice(at * together, (at + 1) * together))
    .map((part) => [part.reduce((sum, [, likely]) => sum + likely, 0) / part.length, part.some(([, , drawn]) => drawn)]);
  const highest = Math.max(...columns.map(([likely]) => likely));
  const svg = (name, attributes) => {
    const node = document.createElementNS("http://www.w3.org/2000/svg", name);
    Object.entries(attributes).forEach(([key, value]) => node.setAttribute(key, value));
    return node;
  };
  const [words, likely] = could.find(([, , drawn]) => drawn);
  const picture = svg("svg", { class: "spread", viewBox: `0 0 ${10 * columns.length} 100`, preserveAspectRatio: "none", role: "img", "aria-label": `${words}: ${percent(likely)}` });
  columns.forEach(([height, drawn], at) => picture.append(
    svg("rect", { x: 10 * at + 1, width: 8, y: 100 - (100 * height) / highest, height: (100 * height) / highest, class: drawn ? "column drawn" : "column" })));
  return [picture, made("p", { class: "ends" }, made("span", {}, could[0][0]), made("strong", {}, `${words}: ${percent(likely)}`), made("span", {}, could.at(-1)[0]))];
}

// ---- the report -------------------------------------------------------------------------------------------------------------

let secret = null;
let report = "";

function asked() {
  if (survey.share !== "sample") return survey.questions;
  return [survey.questions[new Coins(secret, survey.stream, "", "which question").below(survey.questions.length)]];
}

function readAll() {
  const found = asked().map((question) => [question, READ[question.kind](question)]);
  if (survey.group) found.push([{ id: "group" }, chosen("group")[0] ?? { error: texts.missing_choice }]);
  const wrong = found.filter(([question, value]) => complain(question.id, value?.error ?? ""));
  if (wrong.length) fieldsOf(wrong[0][0].id)[0].focus();
  return wrong.length ? null : found;
}

function complain(id, error) {
  const line = element(`${id}-error`);
  line.textContent = error;
  line.hidden = !error;
  fieldsOf(id).forEach((input) => (error ? input.setAttribute("aria-invalid", "true") : input.removeAttribute("aria-invalid")));
  return error;
}

function show() {
  const found = readAll();
  if (found === null) return;
  const group = survey.group ? { group: found.pop()[1] } : {};
  const first = survey.group ? [plainCard(survey.group, group.group)] : [];
  const answers = found.map(([question, value]) => [question, value, permanent(question.how, value, secret, survey.stream, question.id)]);
  report = JSON.stringify({
    tacit: "survey report 1", survey: survey.id, form: survey.form, person: pseudonym(secret), ...group,
    answers: Object.fromEntries(answers.map(([question, , drawn]) => [question.id, drawn])),
  });
  element("answers").replaceChildren(...first, ...answers.map((answer) => card(...answer)));
  element("report").textContent = report;
  tell("");
  element("code").hidden = true;
  turn(true);
  document.querySelectorAll(".outcomes").forEach((list) => (list.scrollTop = (list.querySelector(".drawn")?.offsetTop ?? 0) - list.offsetTop - 90));
}

function turn(reviewing) {
  element("form").hidden = reviewing;
  element("review").hidden = !reviewing;
  (reviewing ? element("review-title") : fieldsOf(survey.group ? "group" : asked()[0].id)[0]).focus();
  window.scrollTo(0, 0);
}

const tell = (words) => (element("status").textContent = words);
const code = () => "tacit1." + btoa(report).replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");

async function send() {
  element("send").disabled = true;
  tell(texts.sending);
  try {
    const answer = await fetch(survey.send_to, {
      method: "POST", body: report, headers: { "Content-Type": "application/json" },
      mode: "cors", credentials: "omit", referrerPolicy: "no-referrer", cache: "no-store", redirect: "error",
    });
    const said = await answer.json().catch(() => ({}));
    if (!answer.ok && said.reason !== "duplicate") throw new Error(said.message ?? String(answer.status));
    tell(answer.ok ? texts.sent : texts.sent_before);
  } catch (error) {
    element("send").disabled = false;
    tell(filled(texts.not_sent, { reason: error.message }));
  }
}

function save() {
  const name = `${survey.id}-${pseudonym(secret).slice(0, 8)}.json`;
  const link = made("a", { download: name, href: URL.createObjectURL(new Blob([report + "\n"], { type: "application/json" })) });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
  tell(filled(texts.saved, { name }));
}

async function copy() {
  const box = element("code");
  box.value = code();
  box.hidden = false;
  try {
    await navigator.clipboard.writeText(box.value);
    tell(texts.copied);
  } catch {
    box.select();
    tell(document.execCommand("copy") ? texts.copied : texts.not_copied);
  }
}

function begin() {
  const date = new Intl.DateTimeFormat(survey.language, { dateStyle: "long", timeZone: "UTC" }).format(new Date(survey.closes));
  element("closes").textContent = filled(texts.closes, { date });
  element("strength").textContent = filled(texts.strength, { ratio: format.format(survey.ratio), epsilon: format.format(survey.epsilon) });
  if (Date.now() >= survey.open_until) return stop(filled(texts.closed, { date }));
  if (!globalThis.crypto?.getRandomValues) return stop(texts.no_random);
  secret = keptSecret() ?? freshSecret();
  keep(secret);
  const shown = new Set(asked().map((question) => question.id));
  survey.questions.filter(({ id }) => !shown.has(id)).forEach(({ id }) => (document.querySelector(`[data-question="${id}"]`).hidden = true));
  element("form").hidden = false;
  element("form").addEventListener("submit", (event) => { event.preventDefault(); show(); });
  element("form").reset();
  const actions = { save, copy, change: () => turn(false), send };
  Object.entries(actions).forEach(([id, act]) => element(id)?.addEventListener("click", act));
  element("shared").addEventListener("change", (event) => keep(event.target.checked ? null : secret));
}

function stop(words) {
  element("notice").textContent = words;
  element("notice").hidden = false;
}

begin();
