// What a prompt starts with, the open tasks, the last turn, the changes of the last day, what it costs, and what needs attention.
import { html, useMemo, useRef, useState } from "../html.js";
import { ACTIONS, applyAction, CLOSE, TIERS } from "../actions.js";
import { formatScope, get, parseScope, post } from "../api.js";
import { Alerts } from "../components/alerts.js";
import { Empty, Loaded, MemoryLink, ScopeName, Skeleton, Tier, Time } from "../components/basics.js";
import { Chart } from "../components/chart.js";
import { ContextBar, Entries, useOfPart } from "../components/context.js";
import { Run, runsOf } from "../components/events.js";
import { PeriodFilter, usePeriod } from "../components/filters.js";
import { compact, count, dayName, memories, number, scopeName, shortened, titleOf, tokens } from "../format.js";
import { useEvents } from "../live.js";
import { useLoaded } from "../loading.js";
import { useWritable } from "../login.js";
import { hrefOf, setParams, useParam } from "../route.js";
import { sessionNames } from "../sessions.js";
import { FirstSteps } from "./first-steps.js";

// From the bottom of the chart.
const STACKED = [...TIERS].reverse();
const SHOWN = 12, RECENT = 8;
const DAY_MILLISECONDS = 86_400_000;
const HISTORY_MILLISECONDS = 30_000;
const actionOf = (name) => ACTIONS.find((action) => action.name === name);

function Starting({ entry, memory, onChange }) {
  const writable = useWritable();
  const action = memory.priority === "pinned" ? actionOf("Unpin") : memory.tier === "hot" ? actionOf("Move to warm") : null;
  const label = memory.priority === "pinned" ? "Unpin" : "Cool";
  return html`<li class="row"><div class="grow"><${MemoryLink} id=${entry.id}>${titleOf(memory.content)}</${MemoryLink}>
      <div class="meta">${entry.section === "pinned" ? html`<strong>pinned</strong>` : html`<${Tier} tier=${entry.tier} />`}<span>${entry.reason}</span><span>${tokens(entry.tokens)}</span><${ScopeName} scope=${memory.scope} /></div></div>
    ${writable && action && html`<button type="button" class="small" aria-label=${`${label} ${titleOf(memory.content, 60)}`} onClick=${() => applyAction(action, [memory], { onChange })}>${label}</button>`}</li>`;
}

const withoutSession = ({ session, ...scope }) => scope;

// The scopes that a prompt may have: all that hold memories, and that of the last turn; a new session has no number yet.
function scopesOf(scopes, chosen) {
  const found = new Map([{}, chosen, ...scopes.map(({ scope }) => scope)].map(withoutSession).map((scope) => [formatScope(scope), scope]));
  return [...found.entries()].sort(([one], [other]) => (one < other ? -1 : 1));
}

// What a new session of a scope is given: the selection that the server makes, by the reader's choice or that of the last turn.
function PromptStart({ last, scopes, current, onChange, version }) {
  const [wanted] = useParam("start", "last");
  const usual = last ? last.scope : current;
  const chosen = wanted === "last" ? formatScope(withoutSession(usual)) : wanted === "none" ? "" : wanted;
  const state = useLoaded(() => post("/start", { memories: true }, { scope: parseScope(chosen) }), [chosen, version]);
  return html`<section class="card" aria-label="What a prompt starts with"><div class="card-head"><h2>What a prompt starts with</h2>
      <label class="field inline">in <select value=${chosen} onChange=${(event) => setParams({ start: event.target.value || "none" })}>
        ${scopesOf(scopes, parseScope(chosen)).map(([key, scope]) => html`<option key=${key} value=${key} selected=${key === chosen}>${scopeName(scope)}</option>`)}</select></label></div>
    <${Loaded} state=${state}>${(start) => html`<${Started} ...${start} onChange=${onChange} />`}</${Loaded}></section>`;
}

function Started({ receipt, memories: read, onChange }) {
  const [all, setAll] = useState(false);
  const { entries } = useOfPart(receipt.included);
  const byId = new Map(read.map((memory) => [memory.id, memory]));
  const shown = all ? entries : entries.slice(0, SHOWN);
  return html`<p class="hint">${memories(receipt.included.length)}, ${number(receipt.tokens)} of ${tokens(receipt.budget)}</p><${ContextBar} receipt=${receipt} />
    ${entries.length ? html`<ol class="plain rows">${shown.map((entry) => html`<${Starting} key=${entry.id} entry=${entry} memory=${byId.get(entry.id)} onChange=${onChange} />`)}</ol>
      ${shown.length < entries.length && html`<button type="button" class="link" onClick=${() => setAll(true)}>Show all ${number(entries.length)}</button>`}`
      : html`<${Empty} title="A session of this scope starts with nothing.">Pin a memory, move it to hot, or store a rule to have it in every prompt of its scope.</${Empty}>`}
    ${receipt.left_out.length > 0 && html`<details><summary>Left out: ${number(receipt.left_out.length)}</summary><${Entries} entries=${receipt.left_out} /></details>`}`;
}

function OpenTasks({ listed, onChange }) {
  const writable = useWritable();
  return html`<section class="card" aria-label="Open tasks"><div class="card-head"><h2>Open tasks</h2></div>
    <ol class="plain rows">${listed.map((task) => html`<li key=${task.id} class="row"><div class="grow"><${MemoryLink} id=${task.id}>${titleOf(task.content)}</${MemoryLink}>
      <div class="meta">${task.metadata.due && html`<span>due ${task.metadata.due}</span>`}<${Time} at=${task.created_at} /><${ScopeName} scope=${task.scope} /></div></div>
      ${writable && html`<button type="button" class="small" aria-label=${`Close ${titleOf(task.content, 60)}`} onClick=${() => applyAction(CLOSE, [task], { onChange })}>Close</button>`}</li>`)}</ol></section>`;
}

function LastTurn({ receipt, names }) {
  if (!receipt) return html`<${Empty} title="No prompt has had memories yet."><code>memotherm install claude-code</code> connects an agent; its prompts appear here.</${Empty}>`;
  return html`${receipt.query !== null ? html`<p><q>${shortened(receipt.query, 200)}</q></p>` : html`<p class="hint">The start of a session, or a prompt whose text is not kept.</p>`}
    <p class="hint">${number(receipt.tokens)} of ${tokens(receipt.budget)}, <${Time} at=${receipt.at} />, <${ScopeName} scope=${receipt.scope} session=${names.get(formatScope(receipt.scope))} /></p>
    <${ContextBar} receipt=${receipt} path=${["prompts"]} params=${{ receipt: receipt.number }} />
    <ol class="plain rows">${receipt.included.slice(0, 6).map((entry) => html`<li key=${entry.id}><${MemoryLink} id=${entry.id}>${entry.title ?? "a memory that is gone"}</${MemoryLink}>
      <div class="meta">${entry.tier && html`<${Tier} tier=${entry.tier} />`}<span>${entry.reason}</span><span>${tokens(entry.tokens)}</span></div></li>`)}</ol>
    <p><a href=${hrefOf(["prompts"], { receipt: receipt.number })}>${receipt.included.length > 6 ? `All ${number(receipt.included.length)} that went in, and ` : ""}Why was a memory (not) in it?</a></p>`;
}

const Cost = ({ receipts }) => {
  const used = receipts.reduce((sum, each) => sum + each.tokens, 0);
  return html`<div><dt>In prompts, 7 days</dt><dd><a href=${hrefOf(["costs"])}>${compact(used)}</a> <small>tokens in ${count(receipts.length, "turn")}</small></dd></div>`;
};

function Stats({ status, receipts }) {
  return html`<dl class="stats">${TIERS.map((tier) => html`<div key=${tier}><dt><${Tier} tier=${tier} /></dt>
      <dd><a href=${hrefOf(["memories"], { tier })}>${number(status[tier].items)}</a> <small>${compact(status[tier].tokens)} tokens</small></dd></div>`)}
    ${receipts && html`<${Cost} receipts=${receipts} />`}</dl>`;
}

function History({ points, period }) {
  const chart = useMemo(() => ({
    times: points.map((point) => new Date(point.at) / 1000),
    series: STACKED.map((tier) => ({ label: tier, colour: tier, values: points.map((point) => point[tier]) })),
  }), [points]);
  return html`<${Chart} title=${`Memories by tier over ${period}`} times=${chart.times} series=${chart.series} areas />`;
}

export function Overview() {
  const { period, name } = usePeriod();
  const status = useLoaded(async () => {
    const [found, { scopes }, tasks] = await Promise.all([get("/status", { include_narrower: true }), get("/scopes"), get("/tasks", { include_narrower: true, limit: RECENT })]);
    return { ...found, scopes, tasks: tasks.memories };
  });
  const history = useLoaded(() => get("/tiers/history", { since: period, points: 120 }), [period]);
  // The scope of the last turn is all that its selection needs, so that it need not wait for the rest.
  const last = useLoaded(async () => (await get("/receipts", { limit: 1, entries: false })).receipts[0] ?? null);
  const turn = useLoaded(async () => (last.value ? get(`/receipts/${last.value.number}`) : last.value), [last.value]);
  const week = useLoaded(async () => (await get("/receipts", { limit: 1000, entries: false })).receipts.filter((each) => Date.now() - new Date(each.at) < 7 * DAY_MILLISECONDS));
  const changes = useLoaded(async () => (await get("/events", { include_narrower: true, limit: 200 })).events.filter((event) => Date.now() - new Date(event.at) < DAY_MILLISECONDS));
  const drawn = useRef(Date.now());
  const reload = () => {
    [status, last, changes].forEach((state) => state.reload());
    // The history is read from the whole ledger of the period.
    if (Date.now() - drawn.current < HISTORY_MILLISECONDS) return;
    drawn.current = Date.now();
    [history, week].forEach((state) => state.reload());
  };
  useEvents(reload);
  return html`<${Loaded} state=${status} rows=${8}>${(found) => {
    if (!found.retention.active && !found.retention.proposed && !found.retention.archived && !found.retention.deleted) return html`<${FirstSteps} onStored=${reload} />`;
    return html`<${Alerts} status=${found} onChange=${reload} />
      <div class="card"><${Stats} status=${found} receipts=${week.value} /></div>
      <div class="grid two" style=${{ marginTop: "1.25rem" }}>
        <${Loaded} state=${last}>${(receipt) => html`<${PromptStart} last=${receipt} scopes=${found.scopes} current=${found.scope} version=${found} onChange=${reload} />`}</${Loaded}>
        <div class="grid">
          ${found.tasks.length > 0 && html`<${OpenTasks} listed=${found.tasks} onChange=${reload} />`}
          <section class="card" aria-label="The last turn"><div class="card-head"><h2>The last turn</h2></div><${Loaded} state=${turn}>${(receipt) => html`<${LastTurn} receipt=${receipt} names=${sessionNames(week.value ?? [])} />`}</${Loaded}></section>
          <section class="card" aria-label="The last 24 hours"><div class="card-head"><h2>The last 24 hours</h2><a href=${hrefOf(["activity"])}>All activity</a></div>
            <${Loaded} state=${changes}>${(events) => {
              const runs = runsOf(events);
              const days = [...new Set(runs.slice(0, RECENT).map((run) => dayName(run.events[0].at)))];
              return runs.length ? days.map((name) => html`<h3 key=${name}>${name}</h3><ol class="plain">${runs.slice(0, RECENT).filter((run) => dayName(run.events[0].at) === name).map((run) => html`<${Run} key=${run.events[0].seq} events=${run.events} onChange=${reload} />`)}</ol>`)
                : html`<${Empty} title="Nothing was changed.">What agents store, move and forget appears here as it happens.</${Empty}>`;
            }}</${Loaded}></section>
        </div>
      </div>
      <section class="card" aria-label="Tiers over time" style=${{ marginTop: "1.25rem" }}><div class="card-head"><h2>Tiers over time</h2><${PeriodFilter} /></div>
        ${history.value === undefined && !history.error ? html`<${Skeleton} />` : html`<${Loaded} state=${history}>${({ points }) => html`<${History} points=${points} period=${name} />`}</${Loaded}>`}</section>`;
  }}</${Loaded}>`;
}
