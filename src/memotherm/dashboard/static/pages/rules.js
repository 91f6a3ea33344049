// The rules that move memories, as sentences with what each has moved; the lab and adoptions on tabs of their own.
import { html, useState } from "../html.js";
import { get, post } from "../api.js";
import { ErrorNotice, Loaded, Tier, Time } from "../components/basics.js";
import { confirm } from "../components/dialog.js";
import { RulesLab } from "../components/rules-lab.js";
import { condition, reasonOf } from "../components/rule-sentence.js";
import { Table } from "../components/table.js";
import { toast } from "../components/toast.js";
import { memories, number } from "../format.js";
import { useLoaded } from "../loading.js";
import { useWritable } from "../login.js";
import { hrefOf, useParam } from "../route.js";

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
