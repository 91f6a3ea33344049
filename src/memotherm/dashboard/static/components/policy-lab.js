// Try a policy before it is adopted: lint, its tests, what it would move, and the shadow.
import { html, useState } from "../html.js";
import { post } from "../api.js";
import { memories, number } from "../format.js";
import { useParam } from "../route.js";
import { useWritable } from "../session.js";
import { ErrorNotice, MemoryLink, Tier } from "./basics.js";
import { confirm } from "./dialog.js";
import { Replay } from "./replay.js";
import { Table } from "./table.js";
import { toast } from "./toast.js";

const PRESETS = ["builtin", "coding-agent", "customer-support", "personal-assistant", "research"];
const IN_FORCE = "the one in force";
const TEXT = "a text of your own";

const Findings = ({ findings }) => html`<${Table} caption="What lint found" empty="Lint found nothing." rows=${findings} columns=${[
  { name: "severity", label: "Severity", cell: (finding) => html`<span class="state ${finding.severity === "error" ? "failure" : "warning"}">${finding.severity}</span>` },
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
  <${Table} caption="Memories whose next move differs" empty="Nothing differs." rows=${differences.slice(0, 200)} columns=${[
    { name: "memory", label: "Memory", cell: (each) => html`<${MemoryLink} id=${each.id}>${each.content.slice(0, 120)}</${MemoryLink}>` },
    { name: "tier", label: "Is", cell: (each) => html`<${Tier} tier=${each.tier} />` }, { name: "run", label: "Run", cell: (each) => each.run },
    { name: "first", label: "In force", cell: (each) => html`<${Next} move=${each.first} />` }, { name: "second", label: "This policy", cell: (each) => html`<${Next} move=${each.second} />` },
  ]} />`;

const ACTIONS = [
  ["lint", "Lint", (body) => post("/policy/lint", body), Findings],
  ["test", "Run its tests", (body) => post("/policy/test", body), Tests],
  ["diff", "Compare with the one in force", (body) => post("/policy/diff", { policy: body }), Differences],
];

export function PolicyLab({ policy, onChange }) {
  const [name, setName] = useParam("policy", IN_FORCE);
  const [text, setText] = useState(policy.text);
  const [result, setResult] = useState(null);
  const [error, setError] = useState(null);
  const [busy, setBusy] = useState(false);
  const writable = useWritable();
  const body = name === IN_FORCE ? { text: policy.text } : name === TEXT ? { text } : { name };
  const run = (action, show) => {
    setBusy(true);
    setError(null);
    action(body).then((value) => { setBusy(false); setResult(show ? html`<${show} ...${value} />` : null); }, (problem) => { setBusy(false); setResult(null); setError(problem); });
  };
  const adopt = async () => {
    const sure = await confirm({ title: "Adopt this policy?", action: "Adopt", text: "It is put in force for the whole store. A policy with lint errors or failing tests is refused. Rolling it back takes back its moves." });
    if (sure) run(async (given) => { const done = await post("/policy/adopt", given); toast(`${done.name} is in force`); onChange(); });
  };
  const shadow = () => run(async (given) => { const done = await post("/policy/shadow", given); toast(`${done.name} is in the shadow`); onChange(); });
  return html`<section><h2>Try a policy</h2>
    <div class="filters"><label class="field">Policy
      <select value=${name} onChange=${(event) => { setName(event.target.value); setResult(null); setError(null); }}>
        ${[IN_FORCE, ...PRESETS, TEXT].map((option) => html`<option key=${option} value=${option} selected=${option === name}>${option}</option>`)}</select></label></div>
    ${name === TEXT && html`<label class="field">Text of the policy<textarea rows="14" spellcheck=${false} class="content" value=${text} onInput=${(event) => setText(event.target.value)}></textarea></label>`}
    <div class="buttons">
      ${ACTIONS.map(([id, label, action, show]) => html`<button key=${id} type="button" disabled=${busy} onClick=${() => run(action, show)}>${label}</button>`)}
      ${writable && html`<button type="button" disabled=${busy || name === IN_FORCE} onClick=${shadow}>Put it in the shadow</button>
        <button type="button" class="primary" disabled=${busy || name === IN_FORCE} onClick=${adopt}>Adopt</button>`}
    </div>
    <div aria-live="polite" aria-busy=${busy ? "true" : "false"}>${error && html`<${ErrorNotice} error=${error} />`}${result}</div>
    <${Replay} body=${body} />
  </section>`;
}
