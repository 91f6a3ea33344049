// The first page: is anything wrong, what a prompt starts with, open tasks, the last turn, the changes of the last day.
import { html, useMemo, useState } from "./vendor/htm-preact.module.js";
import { ACTIONS, applyAction, CLOSE, Run, runsByDay, store, undoRun, useLedger } from "./changes.js";
import { Chart } from "./chart.js";
import { ContextBar, Entries, useOfPart } from "./context.js";
import { Empty, ErrorNotice, Loaded, MemoryLink, PeriodFilter, ScopeName, Skeleton, Tier, Time, toast, toastError, usePeriod } from "./controls.js";
import { compact, count, memories, number, scopeName, sessionNames, shortened, titleOf, tokens } from "./format.js";
import { hrefOf, setParams, useParam } from "./route.js";
import { formatScope, get, parseScope, post, TIERS, useEvents, useLoaded, useWritable } from "./server.js";

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
      <div class="meta"><${Tier} tier=${entry.tier} /><span>${entry.reason}</span><span>${tokens(entry.tokens)}</span><${ScopeName} scope=${memory.scope} /></div></div>
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

function OpenTasks({ version, onChange }) {
  const writable = useWritable();
  const tasks = useLoaded(() => get("/tasks", { include_narrower: true, limit: RECENT }), [version]);
  const listed = tasks.value?.memories ?? [];
  if (!listed.length && !tasks.error) return null;
  return html`<section class="card" aria-label="Open tasks"><div class="card-head"><h2>Open tasks</h2></div>${tasks.error && html`<${ErrorNotice} error=${tasks.error} retry=${tasks.reload} />`}
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

function TiersOverTime({ drawn }) {
  const { period, name } = usePeriod();
  const state = useLoaded(() => get("/tiers/history", { since: period, points: 120 }), [period, drawn]);
  return html`<section class="card" aria-label="Tiers over time" style=${{ marginTop: "1.25rem" }}><div class="card-head"><h2>Tiers over time</h2><${PeriodFilter} /></div>
    <${Loaded} state=${state}>${({ points }) => html`<${History} points=${points} period=${name} />`}</${Loaded}></section>`;
}

function LastDay({ version, onChange }) {
  const since = useMemo(() => new Date(Date.now() - DAY_MILLISECONDS).toISOString(), [version]);
  const ledger = useLedger({ since }, RECENT);
  const nothing = ledger.loading ? html`<${Skeleton} />` : html`<${Empty} title="Nothing was changed.">Changes by your agents appear here as they happen.</${Empty}>`;
  return html`<section class="card" aria-label="The last 24 hours"><div class="card-head"><h2>The last 24 hours</h2><a href=${hrefOf(["activity"])}>All activity</a></div>
    ${ledger.error ? html`<${ErrorNotice} error=${ledger.error} retry=${() => ledger.read(null)} />` : !ledger.events.length && nothing}
    ${runsByDay(ledger, RECENT).map(([name, runs]) => html`<h3 key=${name}>${name}</h3><ol class="plain">${runs.map((run) => html`<${Run} key=${run.events[0].seq} ...${run} onChange=${onChange} />`)}</ol>`)}</section>`;
}

export function Overview() {
  // server.js asks for these while the modules are loaded.
  const last = useLoaded(async () => (await get("/receipts", { limit: 1, entries: false })).receipts[0] ?? null);
  const attention = useLoaded(() => get("/attention"));
  const status = useLoaded(async () => {
    const [found, { scopes }] = await Promise.all([get("/status", { include_narrower: true }), get("/scopes")]);
    return { ...found, scopes };
  });
  // The rest is asked for when this is shown: a browser asks for a few things at once. What reads months is read less often.
  const shown = status.value !== undefined;
  const [drawn, setDrawn] = useState(Date.now);
  const turn = useLoaded(async () => (last.value ? get(`/receipts/${last.value.number}`) : last.value), [last.value]);
  const week = useLoaded(async () => (shown ? (await get("/receipts", { limit: 1000, entries: false })).receipts.filter((each) => Date.now() - new Date(each.at) < 7 * DAY_MILLISECONDS) : undefined), [shown, drawn]);
  const reload = () => {
    [status, attention, last].forEach((state) => state.reload());
    if (Date.now() - drawn >= HISTORY_MILLISECONDS) setDrawn(Date.now());
  };
  useEvents(reload);
  return html`<${Loaded} state=${status} rows=${8}>${(found) => {
    if (!found.retention.active && !found.retention.proposed && !found.retention.archived && !found.retention.deleted) return html`<${FirstSteps} onStored=${reload} />`;
    return html`<${Alerts} status=${found} attention=${attention} onChange=${reload} />
      <div class="card"><${Stats} status=${found} receipts=${week.value} /></div>
      <div class="grid two" style=${{ marginTop: "1.25rem" }}>
        <${Loaded} state=${last}>${(receipt) => html`<${PromptStart} last=${receipt} scopes=${found.scopes} current=${found.scope} version=${found} onChange=${reload} />`}</${Loaded}>
        <div class="grid">
          <${OpenTasks} version=${found} onChange=${reload} />
          <section class="card" aria-label="The last turn"><div class="card-head"><h2>The last turn</h2></div><${Loaded} state=${turn}>${(receipt) => html`<${LastTurn} receipt=${receipt} names=${sessionNames(week.value ?? [])} />`}</${Loaded}></section>
          <${LastDay} version=${found} onChange=${reload} />
        </div>
      </div>
      <${TiersOverTime} drawn=${drawn} />`;
  }}</${Loaded}>`;
}

// What needs attention, each with what helps.

function OverBudget({ scope, hot, limit, onChange }) {
  const writable = useWritable();
  const [busy, setBusy] = useState(false);
  const cool = async () => {
    setBusy(true);
    try {
      const cooled = await post("/memories:cool", {}, { scope });
      if (cooled.event !== null) toast(`Moved ${memories(cooled.count)} to warm: ${number(cooled.tokens)} of ${tokens(cooled.limit)} are left in hot`, { undo: undoRun(cooled.event, onChange) });
      if (cooled.tokens > cooled.limit) toast("The rest is pinned or critical: choose what to cool.");
      onChange();
    } catch (error) {
      toastError(error);
    }
    setBusy(false);
  };
  return html`<div class="notice row"><p><strong>Hot is over its budget:</strong> ${number(hot.tokens)} of ${tokens(limit)} in ${scopeName(scope)}. Prompts leave out memories that do not fit.</p>
    <div class="row">${writable && html`<button type="button" disabled=${busy} onClick=${cool}>Cool the least used</button>`}
      <a href=${hrefOf(["memories"], { tier: "hot", order: "largest", ...(formatScope(scope) ? { scope: formatScope(scope) } : {}) })}>Choose</a></div></div>`;
}

const Notice = ({ what, text, children }) => html`<div class="notice row"><p><strong>${what}</strong> ${text}</p>${children}</div>`;

// What hooks, backups and memories that disagree need; null while it is not known.
function found({ conflicts, more_conflicts: more, jobs_waiting: waiting, jobs_failed: failed, missed_deadlines: missed, last_backup: backup, backup_due: due }) {
  return [
    conflicts > 0 && html`<${Notice} what=${`${more ? "More than " : ""}${count(conflicts, "conflict")}:`} text="memories that disagree."><a class="button" href=${hrefOf(["conflicts"])}>Decide</a></${Notice}>`,
    failed > 0 && html`<${Notice} what=${`${count(failed, "job")} of hooks failed.`} text=${html`<code>memotherm agent worker --once --retry</code> tries again.`} />`,
    waiting > 0 && html`<${Notice} what=${`${count(waiting, "job")} of hooks ${waiting === 1 ? "waits" : "wait"}.`} text=${html`They are stored when their sessions end, or by <code>memotherm agent worker --once --all</code>.`} />`,
    missed > 0 && html`<${Notice} what=${`${count(missed, "recall")} missed ${missed === 1 ? "its" : "their"} deadline`} text=${html`in the last 7 days, so that these prompts had no memories. <code>memotherm agent daemon start</code> makes them faster.`} />`,
    due && html`<${Notice} what=${backup ? "The last backup is old:" : "There is no backup."} text=${html`${backup && html`it was made <${Time} at=${backup} />. `}<code>memotherm store checkpoint FILE</code> makes one.`} />`,
  ].filter(Boolean);
}

function Alerts({ status, attention, onChange }) {
  const limitOf = (scope) => ("session" in scope ? status.session_hot_limit : status.hot_limit);
  const over = status.scopes.filter(({ scope, hot }) => hot.tokens > limitOf(scope)).sort((one, other) => other.hot.tokens - one.hot.tokens);
  const waiting = status.retention.proposed;
  const noticed = [
    waiting > 0 && html`<${Notice} what=${`${count(waiting, "proposal")} ${waiting === 1 ? "waits" : "wait"}`} text="to be approved or rejected."><a class="button" href=${hrefOf(["review"])}>Review</a></${Notice}>`,
    ...over.slice(0, 5).map(({ scope, hot }) => html`<${OverBudget} key=${formatScope(scope)} scope=${scope} hot=${hot} limit=${limitOf(scope)} onChange=${onChange} />`),
    over.length > 5 && html`<p class="hint">${memories(over.slice(5).reduce((sum, each) => sum + each.hot.items, 0))} in ${number(over.length - 5)} more scopes are over their budget.</p>`,
    ...status.degraded.map((notice) => html`<div key=${notice} class="notice row"><div><p><strong>Degraded:</strong> ${notice}</p><p>${remedyOf(notice)}</p></div><a class="button" href=${hrefOf(["health"])}>Open Health</a></div>`),
  ].filter(Boolean);
  return html`<section class="alerts" aria-label="Is anything wrong?"><h2>Is anything wrong?</h2>${noticed}
    <${Loaded} state=${attention}>${(value) => { const more = found(value); return more.length || noticed.length ? more : html`<p class="hint">All well.</p>`; }}</${Loaded}></section>`;
}

// What to do about what is degraded.
const REMEDIES = [
  [/embedder is 'none'/, "Searches match words only. Set `embedder` with `memotherm config set embedder local`, then run `memotherm store reembed`."],
  [/vectors?\b.*(missing|wait|no vector)|without (a )?vector/i, "Maintenance makes the missing vectors; `memotherm store reembed` makes them now."],
  [/polic/i, "`memotherm policy show` prints the policy in force, and `memotherm policy lint` checks it."],
  [/embedder/i, "`memotherm doctor` shows which embedder is used and how to change it."],
];

export const remedyOf = (notice) => (REMEDIES.find(([pattern]) => pattern.test(notice)) || [null, "`memotherm doctor` checks the installation and prints how to correct problems."])[1];

// What an empty store needs: a first memory, or an agent that stores some.

const COMMANDS = [
  ["Connect Claude Code, so that it remembers by itself", "memotherm install claude-code"],
  ["Import what another program has remembered", "memotherm import --help"],
  ["Store a memory in the terminal", 'memotherm remember "We deploy on Fridays"'],
  ["Watch what an agent reads in 60 tokens, and why", "memotherm demo"],
];

function FirstMemory({ onStored }) {
  const [content, setContent] = useState("");
  const [busy, setBusy] = useState(false);
  const submit = (event) => {
    event.preventDefault();
    setBusy(true);
    store({ content }, onStored).then(onStored, (error) => { toastError(error); setBusy(false); });
  };
  return html`<form onSubmit=${submit}>
    <label class="field">Something that an agent should know
      <textarea rows="3" required maxlength="1000000" value=${content} placeholder="We deploy on Fridays"
        onInput=${(event) => setContent(event.target.value)}></textarea></label>
    <div class="buttons"><button type="submit" class="primary" disabled=${busy || !content.trim()}>Remember it</button></div>
  </form>`;
}

function FirstSteps({ onStored }) {
  const writable = useWritable();
  return html`<section class="first-steps" aria-labelledby="first-steps">
    <h2 id="first-steps">First steps</h2>
    <p>There are no memories here yet. New memories of your agents appear on this page as they are stored.</p>
    ${writable && html`<${FirstMemory} onStored=${onStored} />`}
    <ol>${COMMANDS.map(([purpose, command]) => html`<li key=${command}>${purpose}: <code>${command}</code></li>`)}</ol>
  </section>`;
}
