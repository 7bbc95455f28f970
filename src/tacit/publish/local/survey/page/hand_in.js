// ---- handing in: by a request, as a file, as a code to be copied ------------------------------------------------------------

function tell(words, kind = "") {
  element("status").textContent = words;
  element("status").className = kind;
}

const code = () => "tacit1." + btoa(report).replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");

// What is told of a refusal that no other way of handing in would get around.
const FINAL = { late: () => filled(texts.closed, { date: closingDay() }), foreign: () => texts.outdated };
const PATIENCE = 30_000; // milliseconds
const TWO_CLICKS = 600;

async function send() {
  element("send").disabled = sent = true;
  tell(texts.sending);
  try {
    const answer = await fetch(survey.send_to, {
      method: "POST", body: report, headers: { "Content-Type": "application/json" }, signal: AbortSignal.timeout?.(PATIENCE),
      mode: "cors", credentials: "omit", referrerPolicy: "no-referrer", cache: "no-store", redirect: "error",
    }).catch(() => { throw new Error(texts.unreachable); });
    const said = await answer.json().catch(() => ({}));
    if (!answer.ok && FINAL[said.reason]) return end(FINAL[said.reason](), "wrong");
    if (!answer.ok && said.reason !== "duplicate") throw new Error(said.message ?? String(answer.status));
    element("review-title").textContent = texts.sent_title;
    end(answer.ok ? texts.sent : said.same ? texts.sent_before : texts.sent_other, "done");
  } catch (error) {
    element("send").disabled = sent = false;
    tell(filled(texts.not_sent, { reason: error.message }), "wrong");
  }
}

// Nothing can be done any more: another answer would be another report, and give away more.
function end(words, kind) {
  tell(words, kind);
  for (const id of ["handing-in", "code", "change"]) element(id).hidden = true;
  element("status").focus({ preventScroll: true }); // the button that had the focus is gone
  element("status").scrollIntoView({ block: "center" });
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
