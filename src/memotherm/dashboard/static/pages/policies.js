// The rules that move memories: what each moved, checks of other policies, the shadow, adopting and rolling back.
import { html, useState } from "../html.js";
import { call, get, post } from "../api.js";
import { ErrorNotice, Loaded, Tier, Time } from "../components/basics.js";
import { confirm } from "../components/dialog.js";
import { PolicyLab } from "../components/policy-lab.js";
import { Table } from "../components/table.js";
import { toast, toastError } from "../components/toast.js";
import { count, memories, number } from "../format.js";
import { useLoaded } from "../loading.js";
import { useWritable } from "../login.js";

const RUNS = { compact: "Compaction", maintain: "Maintenance", promote: "After a recall", spill: "When a session is full" };

// Return a table of a condition in words, such as `kind = decision and idle >= 14`.
export function condition(table, prefix = "") {
  return Object.entries(table).map(([name, value]) => {
    if (Array.isArray(value)) return `${prefix}${name} is ${value.join(" or ")}`;
    if (value !== null && typeof value === "object") return condition(value, `${prefix}${name}.`);
    return /^[<>=!]/.test(String(value)) ? `${prefix}${name} ${value}` : `${prefix}${name} is ${value}`;
  }).join(" and ");
}

const Conditions = ({ label, tables }) => tables.length > 0 && html`<dt>${label}</dt>
  <dd>${tables.map((table, index) => html`<div key=${index}>${index > 0 && html`<em>or </em>`}${condition(table) || "always"}</div>`)}</dd>`;

const Target = ({ to }) => to.split(" or ").map((tier, index) => html`${index > 0 && " or "}${tier === "stay" ? "stays" : html`<${Tier} tier=${tier} />`}`);

// The reason of a rule with dots for its values; empty if it is nothing else.
const reasonOf = (rule) => rule.why.replace(/\{[^}]*\}/g, "…").replace(/^…$/, "");

function Rule({ rule }) {
  return html`<article class="card" aria-label=${rule.id}><h3>${rule.id}</h3>
    <p><${Target} to=${rule.to} />, <strong>${memories(rule.moved)}</strong> moved</p>
    ${reasonOf(rule) && html`<p class="hint">${reasonOf(rule)}</p>`}
    <dl class="facts"><${Conditions} label="When" tables=${rule.when} /><${Conditions} label="Unless" tables=${rule.unless} />
      <dt>From</dt><dd>${rule.origin}</dd></dl></article>`;
}

function Rules({ policy }) {
  const runs = [...new Set(policy.rules.map((rule) => rule.run))];
  return html`${runs.map((run) => html`<section key=${run}><h2>${RUNS[run] ?? run}</h2>
    <div class="cards wide">${policy.rules.filter((rule) => rule.run === run).map((rule) => html`<${Rule} key=${rule.id} rule=${rule} />`)}</div></section>`)}`;
}

function Shadow({ name, onChange }) {
  const state = useLoaded(() => get("/policy/shadow"), [name]);
  const writable = useWritable();
  const stop = () => call("DELETE", "/policy/shadow").then(() => { toast(`${name} is out of the shadow`); onChange(); }, toastError);
  return html`<section><h2>In the shadow: ${name}</h2>
    <${Loaded} state=${state}>${(report) => html`
      <p>Since <${Time} at=${report.since} />: in ${count(report.recalls, "recall")} it would have missed ${memories(report.missed)} that were returned,
        and spared ${memories(report.spared)} that were only searched.</p>
      <${Table} caption="Where the shadow would have memories" empty="It would have every memory in the same tier." rows=${report.differing.map(([[shadow, tier], each]) => ({ ...each, shadow, tier, id: shadow + tier }))} columns=${[
        { name: "shadow", label: "It would have", cell: (each) => html`<${Tier} tier=${each.shadow} />` }, { name: "tier", label: "They are", cell: (each) => html`<${Tier} tier=${each.tier} />` },
        { name: "memories", label: "Memories", number: true, cell: (each) => number(each.items) }, { name: "tokens", label: "Tokens", number: true, cell: (each) => number(each.tokens) },
      ]} />
      ${writable && html`<div class="buttons"><button type="button" onClick=${stop}>Take it out of the shadow</button></div>`}`}</${Loaded}></section>`;
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

export function Policies() {
  const state = useLoaded(() => get("/policy"));
  if (state.error && state.error.status === 403) {
    return html`<p class="notice">Policies apply to the whole store: log in on its machine with <code>memotherm dashboard</code> to see them.</p>`;
  }
  return html`<${Loaded} state=${state}>${(policy) => html`
    <p>In force: <strong>${policy.name}</strong> <code>${policy.hash}</code>. ${policy.description}</p>
    ${policy.unused && html`<p class="notice warning">${policy.unused}</p>`}
    ${Object.keys(policy.limits).length > 0 && html`<p>Limits: ${Object.entries(policy.limits).map(([name, value]) => `${name} = ${JSON.stringify(value)}`).join(", ")}</p>`}
    <p class="hint">Of the rules of a run, the first one that decides about a memory wins.</p>
    <${Rules} policy=${policy} />
    <${PolicyLab} policy=${policy} onChange=${state.reload} />
    ${policy.shadow && html`<${Shadow} name=${policy.shadow} onChange=${state.reload} />`}
    <${History} policy=${policy} onChange=${state.reload} />`}</${Loaded}>`;
}
