// Replay the past under a policy, beside the one in force, and show the report.
import { html, useState } from "../html.js";
import { post } from "../api.js";
import { decimal, number, percent } from "../format.js";
import { useParam } from "../route.js";
import { ErrorNotice, MemoryLink } from "./basics.js";
import { SelectFilter } from "./filters.js";
import { Table } from "./table.js";

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
export function Replay({ bodies }) {
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
