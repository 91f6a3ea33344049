// Whether everything works: store, recalls, settings, keys, and the checks that the reader runs.
import { html, useMemo, useState } from "../vendor/htm-preact.module.js";
import { Chart } from "../chart.js";
import { CheckFilter, Empty, ErrorNotice, Loaded, PeriodFilter, ScopeName, Table, TextFilter, Time, usePeriod } from "../controls.js";
import { decimal, memories, number, percent } from "../format.js";
import { remedyOf } from "../overview.js";
import { useParam } from "../route.js";
import { get, useLoaded } from "../server.js";

const MOST = 1000, DAY_MILLISECONDS = 86_400_000;
const SLOWEST = 10;
const milliseconds = (value) => `${decimal(value, value && value < 10 ? 1 : 0)} ms`;
const megabytes = (bytes) => `${decimal(bytes / 1e6, 1)} MB`;

function State({ status, store }) {
  return html`<div class="card"><dl class="stats">
    ${store && html`<div><dt>Store</dt><dd>${megabytes(store.bytes)} <small>${number(store.events)} events</small></dd></div>`}
    <div><dt>Recall time</dt><dd>${milliseconds(status.measured.recall_latency_ms)} <small>95% within ${milliseconds(status.measured.recall_latency_p95_ms)}</small></dd></div>
    <div><dt>Hit rate</dt><dd>${percent(status.measured.hit_rate)} <small>of ${number(status.measured.recall_count)} recalls</small></dd></div>
    <div><dt>Embedder</dt><dd>${status.embedder} <small>${status.pending_vectors ? `${memories(status.pending_vectors)} without vectors` : "every memory has vectors"}</small></dd></div></dl>
    ${store && html`<p class="hint">${store.name}; schema ${store.schema_version}</p>`}</div>
  ${status.degraded.map((reason) => html`<div key=${reason} class="notice"><p><strong>Degraded:</strong> ${reason}</p><p>${remedyOf(reason)}</p></div>`)}`;
}

const RECALL_COLUMNS = [
  { name: "ms", label: "Duration", number: true, cell: (recall) => milliseconds(recall.milliseconds) },
  { name: "query", label: "Query", cell: (recall) => recall.query ?? html`<span class="hint">not kept</span>` },
  { name: "tiers", label: "Tiers", cell: (recall) => recall.tiers.join(", ") },
  { name: "returned", label: "Hits", number: true, cell: (recall) => number(recall.returned) },
  { name: "best", label: "Best relevance", number: true, cell: (recall) => decimal(recall.best) },
  { name: "scope", label: "Scope", cell: (recall) => html`<${ScopeName} scope=${recall.scope} />` },
  { name: "at", label: "When", cell: (recall) => html`<${Time} at=${recall.at} />` },
];

function Recalls() {
  const { days, name } = usePeriod();
  const recent = useLoaded(() => get("/recalls", { limit: MOST }));
  const slowest = useLoaded(() => get("/recalls", { limit: SLOWEST, order: "slowest" }));
  const chart = useMemo(() => {
    const since = Date.now() - days * DAY_MILLISECONDS;
    const ordered = (recent.value?.recalls || []).filter((recall) => new Date(recall.at) >= since).reverse();
    return { times: ordered.map((recall) => new Date(recall.at).getTime() / 1000), series: [{ label: "duration", colour: "one", values: ordered.map((recall) => recall.milliseconds) }] };
  }, [recent.value, days]);
  return html`<section class="part"><div class="card-head"><h2>Recalls</h2><${PeriodFilter} /></div>
    <${Loaded} state=${recent}>${() => chart.times.length
      ? html`<${Chart} title=${`Duration of the ${chart.times.length === MOST ? "last " : ""}${number(chart.times.length)} recalls of ${name}`} times=${chart.times} series=${chart.series} format=${milliseconds} single />`
      : html`<${Empty} title=${`Nothing was recalled here in ${name}.`} />`}</${Loaded}>
    <h3>Slowest queries</h3>
    <${Loaded} state=${slowest}>${({ recalls }) => html`<${Table} caption="Slowest queries" rows=${recalls.map((recall) => ({ ...recall, id: recall.number }))} columns=${RECALL_COLUMNS} />`}</${Loaded}>
  </section>`;
}

// A check that runs when the reader asks for it, because it reads the whole store.
function Run({ path, label, children }) {
  const [state, setState] = useState({ busy: false, value: null, error: null });
  const run = () => {
    setState({ busy: true, value: null, error: null });
    get(path).then((value) => setState({ busy: false, value, error: null }), (error) => setState({ busy: false, value: null, error }));
  };
  return html`<div><button type="button" disabled=${state.busy} onClick=${run}>${state.busy ? "Running…" : label}</button>
    <div aria-live="polite">${state.error && html`<${ErrorNotice} error=${state.error} />`}${state.value && children(state.value)}</div></div>`;
}

const Checks = () => html`<section class="part"><h2>Checks</h2><div class="grid even">
  <${Run} path="/check" label="Check the store">${({ problems }) => problems.length
    ? html`<${Table} caption="Problems" rows=${problems} columns=${[{ name: "code", label: "Problem", cell: (problem) => problem.code }, { name: "detail", label: "Detail", cell: (problem) => problem.detail }]} />`
    : html`<p class="notice">No problems.</p>`}</${Run}>
  <${Run} path="/doctor" label="Run the doctor">${({ findings }) => html`<${Table} caption="Findings" rows=${findings} columns=${[
    { name: "name", label: "Check", cell: (finding) => finding.name }, { name: "state", label: "State", cell: (finding) => html`<span class="state ${finding.state}">${finding.state}</span>` },
    { name: "detail", label: "Detail", cell: (finding) => finding.detail }, { name: "remedy", label: "Remedy", cell: (finding) => (finding.remedy ? html`<code>${finding.remedy}</code>` : "") },
  ]} />`}</${Run}>
</div></section>`;

function Settings() {
  const state = useLoaded(() => get("/settings"));
  const [words] = useParam("setting");
  const [all] = useParam("all", "false");
  const shown = (settings) => settings.filter((setting) => (all === "true" || words || setting.origin !== "default")
    && `${setting.name} ${setting.help}`.toLowerCase().includes(words.toLowerCase())).map((setting) => ({ ...setting, id: setting.name }));
  return html`<section class="part"><h2>Settings</h2>
    <div class="filters"><${TextFilter} name="setting" label="Find a setting" type="search" /><${CheckFilter} name="all" label="Include defaults" /></div>
    <${Loaded} state=${state}>${({ settings }) => html`<${Table} caption="Settings" rows=${shown(settings)} empty="Every setting is at its default." columns=${[
      { name: "name", label: "Setting", cell: (setting) => html`<code>${setting.name}</code>` },
      { name: "value", label: "Value", cell: (setting) => html`<code>${JSON.stringify(setting.value)}</code>` },
      { name: "origin", label: "From", cell: (setting) => setting.origin }, { name: "help", label: "Meaning", cell: (setting) => setting.help },
    ]} />`}</${Loaded}></section>`;
}

function Keys() {
  const state = useLoaded(() => get("/keys"));
  return html`<section class="part"><h2>API keys</h2>
    <${Loaded} state=${state}>${({ keys }) => html`<${Table} caption="API keys" rows=${keys.map((key) => ({ ...key, id: key.name }))}
      empty=${html`The store has no API keys: <code>memotherm keys create NAME --tenant TENANT</code> makes one.`} columns=${[
      { name: "name", label: "Name", cell: (key) => key.name }, { name: "tenant", label: "Tenant", cell: (key) => key.tenant },
      { name: "user", label: "User", cell: (key) => key.user ?? "all" }, { name: "rights", label: "Rights", cell: (key) => (key.read_only ? "read" : "read and write") + (key.person ? ", person" : "") },
      { name: "created", label: "Created", cell: (key) => html`<${Time} at=${key.created_at} />` },
    ]} />`}</${Loaded}></section>`;
}

export function Health() {
  const status = useLoaded(() => get("/status", { include_narrower: true }));
  const store = useLoaded(() => get("/store"));
  // The key of a tenant sees its own part only.
  const whole = !(store.error && store.error.status === 403);
  return html`<${Loaded} state=${status}>${(found) => html`<${State} status=${found} store=${store.value} />`}</${Loaded}>
    <${Recalls} />
    ${whole ? html`<${Checks} /><${Settings} /><${Keys} />`
      : html`<p class="notice">Checks, settings and keys concern the whole store: log in on its machine with <code>memotherm dashboard</code> to see them.</p>`}`;
}
