// The rules that move memories, as sentences with what each has moved; policies are tried, replayed and adopted in the lab.
import { html, useState } from "../vendor/htm-preact.module.js";
import { confirm, ErrorNotice, Loaded, MemoryLink, SelectFilter, Table, Tier, Time, toast, useTypedParam } from "../controls.js";
import { decimal, memories, number, percent, titleOf } from "../format.js";
import { hrefOf, setParams, useParam } from "../route.js";
import { get, post, useLoaded, useWritable } from "../server.js";

// A rule as a sentence with its real values, and its conditions in words.
const UNIT = { idle: "d", untouched: "d", used: "d", in_tier: "d" };
// What the placeholders of a reason are limited by.
const FIELD_OF = { days: ["idle"], untouched: ["untouched"], recent_uses: ["recent_uses", "uses"], relevance: ["query_relevance"] };
const AT_LEAST = new Set(["recent_uses", "relevance"]);
const FALLBACK = { reason: "a session needs room in hot" };

// Return the value that a comparison such as ">= cool_hot_days" names: a number, without its unit.
function valuesIn(comparison, values) {
  return String(comparison).split(",").map((part) => part.replace(/^\s*[<>=!]+\s*/, "").trim()).map((name) => (name in values ? values[name] : name.replace(/d$/, ""))).filter((value) => value !== "");
}

// Return a number of a rule without a fraction that says nothing.
const plain = (value) => (Number.isFinite(Number(value)) ? String(Number(value)) : String(value));

// Return the reason of a rule with the limits of its conditions where a memory's own values would stand.
function reasonOf(rule, values) {
  return rule.why.replace(/\{([a-z_]+)[^}]*\}/g, (_, name) => {
    if (FALLBACK[name]) return FALLBACK[name];
    const fields = FIELD_OF[name] ?? [name];
    const found = rule.when.flatMap((table) => fields.filter((field) => field in table).flatMap((field) => valuesIn(table[field], values).slice(0, 1)));
    const limits = [...new Set(found.map(plain))];
    if (!limits.length) return "some";
    return `${limits.join(" or ")}${AT_LEAST.has(name) ? " or more" : ""}`;
  });
}

// Return a table of a condition in words, such as `kind is decision and idle >= 60d`.
function condition(table, values, prefix = "") {
  return Object.entries(table).map(([name, value]) => {
    if (Array.isArray(value)) return `${prefix}${name} is ${value.join(" or ")}`;
    if (value !== null && typeof value === "object") return condition(value, values, `${prefix}${name}.`);
    const text = String(value).replace(/[a-z_]{3,}/g, (word) => (word in values ? `${plain(values[word])}${UNIT[name] ?? ""}` : word));
    return /^[<>=!]/.test(text) ? `${prefix}${name} ${text}` : `${prefix}${name} is ${text}`;
  }).join(" and ");
}

// Replay the past under a policy, beside the one in force, and show the report.

const PERIODS = [["", "all that was recorded"], ["365d", "a year"], ["90d", "90 days"], ["30d", "30 days"], ["7d", "a week"]];

const points = (share) => decimal(100 * share, 1);
const orDash = (value, format) => (value === null ? "–" : format(value));
const interval = ({ low, high }) => `${points(low)} to ${points(high)}`;

const COLUMNS = [
  { name: "name", label: "Policy", cell: (row) => html`<strong>${row.name}</strong>${row.note && html`<br /><span class="hint">${row.note}</span>`}` },
  { name: "live", label: "Live hits", number: true, cell: (row) => html`${percent(row.live_hits)}<br /><span class="hint">${interval(row.interval)}</span>` },
  { name: "hot", label: "Hot hits", number: true, cell: (row) => orDash(row.hot_hits, percent) },
  { name: "tokens", label: "Tokens per turn", number: true, cell: (row) => orDash(row.tokens_per_turn, (value) => number(Math.round(value))) },
  { name: "size", label: "Live memories", number: true, cell: (row) => `${number(Math.round(row.live_mean))}, at most ${number(row.live_max)}` },
  { name: "moves", label: "Moves", number: true, cell: (row) => orDash(row.moves, number) },
  { name: "flaps", label: "Taken back", number: true, cell: (row) => orDash(row.flaps, number) },
  { name: "cold", label: "Asked for cold", number: true, cell: (row) => number(row.cold_asked) },
];

function Report({ report }) {
  const rowOf = (name) => report.policies.find((row) => row.name === name);
  return html`<p>${number(report.asked_again)} of ${number(report.questions)} questions were asked again and demanded ${number(report.demanded)} memories.</p>
    ${report.notes.map((note) => html`<p key=${note} class="notice">${note}</p>`)}
    <${Table} caption="Result of the replay" rows=${report.policies.map((row) => ({ ...row, id: row.name }))} columns=${COLUMNS} />
    <p class="hint">Live hits: how many of the demanded memories were hot or warm, with a 95 % interval.
      Taken back: moves that undid one of the last 7 days.</p>
    ${report.differences.map(([[first, second], range]) => html`<p key=${`${first} ${second}`}>Live hits of ${first} minus those of ${second}:${" "}
      <strong>${points(rowOf(first).live_hits - rowOf(second).live_hits)}</strong> percentage points (95 % interval: ${interval(range)}).</p>`)}
    ${report.causes.length > 0 && html`<h4>Memories that were asked for while cold</h4>
      <${Table} caption="Memories that were asked for while cold" rows=${report.causes.map((cause) => ({ ...cause, memory: cause.id, id: `${cause.policy} ${cause.id}` }))} columns=${[
        { name: "memory", label: "Memory", cell: (cause) => html`<${MemoryLink} id=${cause.memory}>${cause.content}</${MemoryLink}>` },
        { name: "policy", label: "Policy", cell: (cause) => cause.policy }, { name: "rule", label: "Moved to cold by", cell: (cause) => cause.rule },
        { name: "times", label: "Asked for while cold", number: true, cell: (cause) => number(cause.times) },
      ]} />`}`;
}

// `bodies` are the policies to replay as the route takes them.
function Replay({ bodies }) {
  const [since] = useParam("since");
  const [{ running, report, error }, setState] = useState({});
  const start = () => {
    setState({ running: true });
    post("/policy/replay", { policies: bodies, ...(since ? { since } : {}) }).then((found) => setState({ report: found }), (failed) => setState({ error: failed }));
  };
  return html`<h3>Replay</h3>
    <p class="hint">Asks the recorded questions of the chosen scope again, and shows which memories this policy would have kept hot or warm,
      beside the one in force and what was recorded. Nothing is changed.</p>
    <div class="filters"><${SelectFilter} name="since" label="Period" options=${PERIODS} />
      <button type="button" disabled=${running} onClick=${start}>Replay the past</button></div>
    <div aria-live="polite">${running && html`<p>Replaying the past…</p>`}${error && html`<${ErrorNotice} error=${error} />`}${report && html`<${Report} report=${report} />`}</div>`;
}

// Try a policy before it is adopted: lint, its tests, what it would move, and a replay of the past.

const PRESETS = ["builtin", "coding-agent", "customer-support", "personal-assistant", "research"];
const IN_FORCE = "the one in force";
const TEXT = "a text of your own";

const Findings = ({ findings }) => html`<${Table} caption="What lint found" empty="Lint found nothing." rows=${findings} columns=${[
  { name: "severity", label: "Severity", cell: (finding) => html`<span class="state ${finding.warning ? "warning" : "failure"}">${finding.warning ? "warning" : "error"}</span>` },
  { name: "code", label: "Code", cell: (finding) => finding.code }, { name: "line", label: "Line", number: true, cell: (finding) => finding.line ?? "–" },
  { name: "message", label: "Message", cell: (finding) => finding.message },
]} />`;

const Tests = ({ tests, failed }) => html`<p>${number(tests.length - failed)} of ${number(tests.length)} tests passed.</p>
  <${Table} caption="Tests of the policy" empty="The policy has no tests." rows=${tests} columns=${[
    { name: "passed", label: "Result", cell: (test) => html`<span class="state ${test.passed ? "ok" : "failure"}">${test.passed ? "passed" : "failed"}</span>` },
    { name: "name", label: "Test", cell: (test) => test.name }, { name: "detail", label: "Detail", cell: (test) => test.detail },
  ]} />`;

const Next = ({ move }) => (move ? html`<${Tier} tier=${move.to} /> (${move.rule})` : "stays");
const Differences = ({ differences }) => html`<p>The next move of ${memories(differences.length)} differs.</p>
  <${Table} caption="Memories whose next move differs" empty="Nothing differs." rows=${differences} most=${100} columns=${[
    { name: "memory", label: "Memory", cell: (each) => html`<${MemoryLink} id=${each.memory.id}>${titleOf(each.memory.content)}</${MemoryLink}>` },
    { name: "tier", label: "Is", cell: (each) => html`<${Tier} tier=${each.memory.tier} />` }, { name: "run", label: "Run", cell: (each) => each.run },
    { name: "first", label: "In force", cell: (each) => html`<${Next} move=${each.first} />` }, { name: "second", label: "This policy", cell: (each) => html`<${Next} move=${each.second} />` },
  ]} />`;

const CHECKS = [
  { id: "lint", label: "Lint", run: (body) => post("/policy/lint", body), Result: Findings },
  { id: "test", label: "Run its tests", run: (body) => post("/policy/test", body), Result: Tests },
  { id: "diff", label: "Compare with the one in force", run: (body) => post("/policy/diff", { second: body }), Result: Differences },
];

function Check({ check, body }) {
  const state = useLoaded(() => check.run(body));
  return html`<${Loaded} state=${state}>${(value) => html`<${check.Result} ...${value} />`}</${Loaded}>`;
}

// Put the policy in force.
function Adoption({ body, disabled, onChange }) {
  const [error, setError] = useState(null);
  const [busy, setBusy] = useState(false);
  const run = (path, done) => {
    setBusy(true);
    setError(null);
    post(path, body).then((adoption) => { toast(`${adoption.name} is ${done}`); onChange(); }, setError).finally(() => setBusy(false));
  };
  const adopt = async () => {
    const sure = await confirm({ title: "Adopt this policy?", action: "Adopt", text: "It is put in force for the whole store. A policy with lint errors or failing tests is refused. Rolling it back takes back its moves." });
    if (sure) run("/policy/adopt", "in force");
  };
  return html`<div class="buttons">
      <button type="button" class="primary" disabled=${busy || disabled} onClick=${adopt}>Adopt</button>
      ${disabled && html`<span class="hint">Choose another policy than the one in force to adopt it.</span>`}
    </div>${error && html`<${ErrorNotice} error=${error} />`}`;
}

function RulesLab({ policy, onChange }) {
  const [name] = useParam("policy", IN_FORCE);
  const [checkId] = useParam("check");
  const [shownText, changeText, text] = useTypedParam("text", { fallback: policy.text, check: (typed) => (typed.trim() ? "" : "Write a policy.") });
  const [runs, setRuns] = useState(0);
  const writable = useWritable();
  // The ids of the built-in rules are refused in a text of somebody else.
  const inForce = policy.name === PRESETS[0] ? { name: policy.name } : { text: policy.text };
  const body = name === IN_FORCE ? inForce : name === TEXT ? { text } : { name };
  const check = CHECKS.find((each) => each.id === checkId);
  // A second press runs the same check again.
  const choose = (id) => { setRuns(runs + 1); setParams({ check: id }); };
  return html`<section><h2>Try a policy</h2>
    <div class="filters"><label class="field">Policy
      <select value=${name} onChange=${(event) => setParams({ policy: event.target.value, check: "", job: "" })}>
        ${[IN_FORCE, ...PRESETS, TEXT].map((option) => html`<option key=${option} value=${option} selected=${option === name}>${option}</option>`)}</select></label></div>
    ${name === TEXT && html`<label class="field">Text of the policy<textarea rows="14" spellcheck=${false} class="content" value=${shownText} onInput=${changeText}></textarea></label>`}
    <div class="buttons">${CHECKS.map(({ id, label }) => html`<button key=${id} type="button" aria-pressed=${id === checkId ? "true" : "false"} onClick=${() => choose(id)}>${label}</button>`)}</div>
    <div aria-live="polite">${check && html`<${Check} key=${JSON.stringify([checkId, body, runs])} check=${check} body=${body} />`}</div>
    <${Replay} bodies=${name === IN_FORCE || name === policy.name ? [inForce] : [inForce, body]} />
    ${writable && html`<h3>Put it to use</h3><${Adoption} body=${body} disabled=${name === IN_FORCE} onChange=${onChange} />`}
  </section>`;
}

const RUNS = { compact: "When the rules run", maintain: "In maintenance", promote: "After a recall", spill: "When a session is full" };
const TABS = [["", "Rules"], ["lab", "Lab"], ["history", "History"]];

const Conditions = ({ label, tables, values }) => tables.length > 0 && html`<dt>${label}</dt>
  <dd>${tables.map((table, index) => html`<div key=${index}>${index > 0 && html`<em>or </em>`}${condition(table, values) || "always"}</div>`)}</dd>`;

const Target = ({ to }) => (to === "stay" ? html`<strong>Stays</strong>` : html`Goes to ${to.split(" or ").map((tier, index) => html`${index > 0 && " or "}<${Tier} tier=${tier} />`)}`);

function Rule({ rule, values }) {
  return html`<article class="rule" aria-label=${rule.id}><p><${Target} to=${rule.to} />: ${reasonOf(rule, values)}. <span class="hint">${rule.moved ? html`<a href=${hrefOf(["activity"], { rule: rule.id })}>${memories(rule.moved)} moved</a>` : "Has moved nothing yet"}</span></p>
    <details><summary>Conditions</summary><dl class="facts"><${Conditions} label="When" tables=${rule.when} values=${values} /><${Conditions} label="Unless" tables=${rule.unless} values=${values} />
      <dt>Name</dt><dd><code>${rule.id}</code>, from ${rule.origin}</dd></dl></details></article>`;
}

function RuleList({ policy, values }) {
  const runs = [...new Set(policy.rules.map((rule) => rule.run))];
  return html`<p class="hint">In each run, the first matching rule wins. Pinned memories and active blockers are never moved down.</p>
    ${runs.map((run) => html`<section key=${run} class="card" style=${{ marginTop: "1rem" }}><h2>${RUNS[run] ?? run}</h2>
      ${policy.rules.filter((rule) => rule.run === run).map((rule) => html`<${Rule} key=${rule.id} rule=${rule} values=${values} />`)}</section>`)}`;
}

function History({ policy, onChange }) {
  const writable = useWritable();
  const adopted = policy.adoptions.some((each) => each.action === "adopt");
  const [error, setError] = useState(null);
  const rollback = async () => {
    const sure = await confirm({ title: `Roll back ${policy.name}?`, action: "Roll back", danger: true,
      text: "All moves of this policy are taken back, and the policy before it is put in force. What something else has moved since is left alone." });
    if (!sure) return;
    post("/policy/rollback").then((done) => {
      toast(`${done.name} was rolled back: ${memories(done.moves.length)} moved, ${number(done.skipped.length)} left alone`);
      setError(null);
      onChange();
    }, setError);
  };
  return html`<section><h2>History</h2>
    ${error && html`<${ErrorNotice} error=${error} />`}
    <${Table} caption="Policies that were adopted" empty="The built-in policy has always been in force." rows=${[...policy.adoptions].reverse().map((each) => ({ ...each, id: each.number }))} columns=${[
      { name: "at", label: "When", cell: (each) => html`<${Time} at=${each.at} />` }, { name: "action", label: "Action", cell: (each) => each.action.replace("_", " ") },
      { name: "name", label: "Policy", cell: (each) => each.name }, { name: "hash", label: "Hash", cell: (each) => html`<code>${each.hash || "built-in"}</code>` }, { name: "actor", label: "By", cell: (each) => each.actor },
    ]} />
    ${writable && adopted && html`<div class="buttons"><button type="button" class="danger" onClick=${rollback}>Roll back ${policy.name}</button></div>`}
  </section>`;
}

export function Rules() {
  const [tab] = useParam("tab");
  const state = useLoaded(async () => {
    const [policy, { settings }] = await Promise.all([get("/policy"), get("/settings")]);
    // The limits of the policy in force come before the settings.
    return { policy, values: { ...Object.fromEntries(settings.map((setting) => [setting.name, setting.value])), ...policy.limits } };
  });
  if (state.error && state.error.status === 403) {
    return html`<p class="notice">Rules apply to the whole store: log in on its machine with <code>memotherm dashboard</code> to see them.</p>`;
  }
  return html`<nav class="tabs-row" aria-label="Parts of this page">${TABS.map(([name, title]) => html`<a key=${name} href=${hrefOf(["rules"], { tab: name })} aria-current=${name === tab ? "page" : undefined}>${title}</a>`)}</nav>
    <${Loaded} state=${state} rows=${8}>${({ policy, values }) => html`
    <p>In force: <strong>${policy.name}</strong> <code>${policy.hash}</code>. ${policy.description}</p>
    ${policy.unused && html`<p class="notice">${policy.unused}</p>`}
    ${tab === "" && html`<${RuleList} policy=${policy} values=${values} />`}
    ${tab === "lab" && html`<${RulesLab} policy=${policy} onChange=${state.reload} />`}
    ${tab === "history" && html`<${History} policy=${policy} onChange=${state.reload} />`}`}</${Loaded}>`;
}
