// Try a policy before it is adopted: lint, its tests, what it would move, and a replay of the past.
import { html, useState } from "../html.js";
import { post } from "../api.js";
import { memories, number, titleOf } from "../format.js";
import { useLoaded } from "../loading.js";
import { setParams, useParam } from "../route.js";
import { useWritable } from "../login.js";
import { ErrorNotice, Loaded, MemoryLink, Tier } from "./basics.js";
import { confirm } from "./dialog.js";
import { useTypedParam } from "./filters.js";
import { Replay } from "./replay.js";
import { Table } from "./table.js";
import { toast } from "./toast.js";

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

export function RulesLab({ policy, onChange }) {
  const [name] = useParam("policy", IN_FORCE);
  const [checkId] = useParam("check");
  const [shownText, changeText, text] = useTypedParam("text", { fallback: policy.text, check: (typed) => (typed.trim() ? "" : "Write a policy.") });
  const [runs, setRuns] = useState(0);
  const writable = useWritable();
  const inForce = { text: policy.text };
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
