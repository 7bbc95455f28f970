// ---- what people get to see: words, cards, bars -----------------------------------------------------------------------------

const survey = JSON.parse(document.getElementById("survey").textContent);
const texts = survey.texts;
const element = (id) => document.getElementById(id);
const filled = (text, blanks) =>
  Object.entries(blanks).reduce((whole, [name, value]) => whole.replaceAll(`{${name}}`, () => value), text); // $ means nothing
const format = new Intl.NumberFormat(survey.language, { maximumSignificantDigits: 12 });
const chance = ([top, bottom]) => Number((top * 1_000_000_000n) / bottom) / 1e9; // to be shown, never to be drawn with
const rounded = (value, digits) => new Intl.NumberFormat(survey.language, { maximumSignificantDigits: digits }).format(value);
const percent = (share) => `${rounded(100 * share, share > 0.1 ? 3 : 2)}\u00a0%`;

function made(name, attributes = {}, ...children) {
  const node = document.createElement(name);
  Object.entries(attributes).forEach(([key, value]) => node.setAttribute(key, value));
  node.append(...children);
  return node;
}

// ---- what is sent, and what could have been: [words, probability, whether it was drawn, whether it is the answer] ----------

const SHOWN = {
  "k-ary": {
    sent: (question, report) => question.options[report],
    could: (question, how, value, report) =>
      question.options.map((option, code) =>
        [option, chance(ratio(code === value ? how.hit : how.false_hit)), code === report, code === value]),
  },
  "unary": {
    sent: (question, report) => question.options.filter((_, code) => report[code] === "1").join(", ") || texts.none,
    explain: () => texts.marks_drawn,
    could: (question, how, value, report) =>
      marks(question.options, report, [value], (own) => chance(ratio(own ? how.hit : how.false_hit))),
  },
  "set": {
    sent: (question, report) => typeof report === "number"
      ? question.options[report] ?? texts.blank
      : SHOWN.unary.sent(question, report),
    explain: ({ how }) => [
      how.most > 1 ? filled(texts.set_drawn, { count: how.most }) : "",
      SHOWN[how.inner.method].explain?.() ?? "",
    ].join(" "),
    could: (question, how, codes, report) => {
      const inner = how.inner;
      const [hit, falseHit] = [chance(ratio(inner.hit)), chance(ratio(inner.false_hit))];
      const seen = (held) => falseHit + (held ? (hit - falseHit) / how.most : 0);
      if (typeof report === "string") return marks(question.options, report, codes, seen);
      const blanks = how.most * seen(false) + (how.most - codes.length) * (seen(true) - seen(false));
      const own = (code) => codes.includes(code);
      return [...question.options.map((option, code) => [option, seen(own(code)), code === report, own(code)]),
        [texts.blank, blanks, report >= how.size, false]];
    },
  },
  "one-bit": {
    sent: (question, report) => [texts.bit_low, texts.bit_high][report],
    explain: () => filled(texts.bit_drawn, { low: texts.bit_low, high: texts.bit_high }),
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
      const inside = (code) => code >= index && code < index + how.window;
      const likely = (code) => (inside(code) ? near / how.window : 0) + (1 - near) / how.outputs;
      return Array.from({ length: how.outputs }, (_, code) => [level(question, code), likely(code), code === report]);
    },
  },
  "laplace": {
    sent: level,
    could: (question, how, index, report) => {
      const decay = chance(ratio(how.decay));
      const folded = (code) => code === 0 || code === how.points - 1;
      const likely = (code) => (decay ** Math.abs(code - index) * (folded(code) ? 1 : 1 - decay)) / (1 + decay);
      const outcome = (_, code) => [level(question, code), likely(code), code === report, code === index];
      return Array.from({ length: how.points }, outcome);
    },
  },
};

// What a report of a number stands for, to be shown: evenly spaced, and with noise the ends hold all that is beyond them.
function level(question, code) {
  const [first, last] = question.ends;
  const count = question.how.outputs ?? question.how.points;
  const noisy = question.how.method === "laplace";
  const value = noisy ? question.lower + code * question.step : first + ((last - first) * code) / (count - 1);
  const words = [rounded(value, 3), question.unit].join(" ").trim();
  if (!noisy || (code > 0 && code < count - 1)) return words;
  return filled(code ? texts.or_more : texts.or_less, { value: words });
}

function marks(options, report, codes, probability) {
  return options.map((option, code) => {
    const [hit, own] = [report[code] === "1", codes.includes(code)];
    const likely = hit ? probability(own) : 1 - probability(own);
    return [filled(hit ? texts.marked : texts.unmarked, { option }), likely, hit, own];
  });
}

const box = (attributes, what, words) =>
  made("div", attributes, made("span", { class: "what" }, what), made("strong", { class: "words" }, words));
const arrow = () => made("span", { class: "arrow", "aria-hidden": "true" }, "\u2192");
const sentTag = () => made("span", { class: "tag leaves" }, texts.is_sent);
const ownTag = () => made("span", { class: "tag" }, texts.your_answer);

// The public fact is shown for what it is: sent unchanged.
function plainCard(group, code) {
  return made("article", { class: "card", "data-answer": "group" }, made("h3", {}, group.ask),
    made("p", { class: "badge" }, texts.public),
    made("div", { class: "pair" }, box({ class: "leaves" }, texts.is_sent, group.options[code])));
}

function card(question, value, report) {
  const shown = SHOWN[question.how.method];
  const could = shown.could(question, question.how, value, report);
  const explained = shown.explain?.(question).trim();
  return made("article", { class: "card", "data-answer": question.id }, made("h3", {}, question.ask),
    made("div", { class: "pair" },
      box({}, `${texts.your_answer} · ${texts.stays}`, ANSWERED[question.kind](question, value)), arrow(),
      box({ class: "leaves" }, texts.is_sent, shown.sent(question, report))),
    ...rounding(question, value),
    ...(explained ? [made("p", { class: "could" }, explained)] : []),
    made("p", { class: "could", id: `could-${question.id}` }, texts.could_be),
    ...(question.kind === "number" && could.length > 12 ? spread(could, question, value) : [outcomes(could, question.id, report)]),
    made("p", { class: "fine" }, filled(texts.deny, { percent: format.format(question.deny) })));
}

// A number that was written between two steps counts as the nearest one: people are told before they send.
function rounding(question, value) {
  if (question.kind !== "number") return [];
  const written = Number(fieldsOf(question.id)[0].value);
  if (Math.abs(written - (question.lower + value * question.step)) <= 1e-9 * question.step) return [];
  const words = filled(texts.rounded, { written: format.format(written), value: ANSWERED.number(question, value) });
  return [made("p", { class: "notice" }, words)];
}

function outcomes(could, id, report) {
  const scrolls = could.length > 8 ? { tabindex: "0" } : {};
  const list = made("ul", { class: "outcomes", "aria-labelledby": `could-${id}`, ...scrolls });
  for (const [words, likely, drawn, own] of could) {
    const bar = made("span", { class: "bar", "aria-hidden": "true" });
    bar.style.width = `${100 * likely}%`;
    const whole = typeof report === "number"; // and no text of marks, each of which is sent
    const tags = made("span", { class: "tags" }, ...(own ? [ownTag()] : []), ...(drawn && whole ? [sentTag()] : []));
    const line = [bar, made("span", { class: "words" }, words), tags, made("span", { class: "percent" }, percent(likely))];
    list.append(made("li", drawn ? { class: "drawn" } : {}, ...line));
  }
  return list;
}

// Many outcomes as columns, the one that was drawn in another colour; neighbours share a column where there are more than 60.
function spread(could, question, value) {
  const together = Math.ceil(could.length / 60);
  const columns = gathered(could, together);
  const highest = Math.max(...columns.map(([likely]) => likely));
  const [words, likely] = could.find(([, , drawn]) => drawn);
  const said = `${words} (${percent(likely)})`;
  const size = { viewBox: `0 0 ${10 * columns.length} 100`, preserveAspectRatio: "none" };
  const picture = svg("svg", { class: "spread", role: "img", "aria-label": `${texts.is_sent}: ${said}`, ...size });
  columns.forEach(([share, drawn], at) => {
    const height = (100 * share) / highest;
    picture.append(svg("rect", { x: 10 * at + 1, width: 8, y: 100 - height, height, class: drawn ? "column drawn" : "column" }));
  });
  const x = (10 * (placeOf(question, value) + 0.5)) / together;
  picture.append(svg("line", { class: "own", x1: x, x2: x, y1: 0, y2: 100 }));
  const ends = [could[0][0], could.at(-1)[0]].map((end) => made("span", {}, end));
  const own = made("span", {}, ownTag(), ANSWERED.number(question, value));
  const key = made("p", { class: "key" }, made("span", {}, sentTag(), said), own);
  return [picture, made("p", { class: "ends" }, ...ends), key];
}

// Where a true number lies among the numbers that could be sent.
function placeOf(question, value) {
  if (question.how.method === "laplace") return value;
  const [first, last] = question.ends;
  return ((question.lower + value * question.step - first) / (last - first)) * (question.how.outputs - 1);
}

function gathered(could, together) {
  const part = (_, at) => could.slice(at * together, (at + 1) * together);
  const parts = Array.from({ length: Math.ceil(could.length / together) }, part);
  return parts.map((each) => [each.reduce((sum, [, likely]) => sum + likely, 0) / each.length, each.some(([, , drawn]) => drawn)]);
}

function svg(name, attributes) {
  const node = document.createElementNS("http://www.w3.org/2000/svg", name);
  Object.entries(attributes).forEach(([key, value]) => node.setAttribute(key, value));
  return node;
}
