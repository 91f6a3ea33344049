// What needs attention, each with what helps.
import { html, useState } from "../html.js";
import { undoRun } from "../actions.js";
import { formatScope, get, post } from "../api.js";
import { count, memories, number, scopeName, tokens } from "../format.js";
import { useLoaded } from "../loading.js";
import { useWritable } from "../login.js";
import { remedyOf } from "../remedies.js";
import { hrefOf } from "../route.js";
import { Loaded, Time } from "./basics.js";
import { toast, toastError } from "./toast.js";

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
  return html`<div class="notice row"><p><strong>Hot is over its budget:</strong> ${number(hot.tokens)} of ${tokens(limit)} in ${scopeName(scope)}. Prompts leave out what does not fit.</p>
    <div class="row">${writable && html`<button type="button" disabled=${busy} onClick=${cool}>Cool the least used</button>`}
      <a href=${hrefOf(["memories"], { tier: "hot", order: "largest", ...(formatScope(scope) ? { scope: formatScope(scope) } : {}) })}>Choose</a></div></div>`;
}

const Notice = ({ what, text, children }) => html`<div class="notice row"><p><strong>${what}</strong> ${text}</p>${children}</div>`;

// What hooks, backups and memories that disagree need; null while it is not known.
function found({ conflicts, jobs_waiting: waiting, jobs_failed: failed, missed_deadlines: missed, last_backup: backup, backup_due: due }) {
  return [
    conflicts > 0 && html`<${Notice} what=${`${count(conflicts, "conflict")}:`} text="memories that disagree."><a class="button" href=${hrefOf(["conflicts"])}>Decide</a></${Notice}>`,
    failed > 0 && html`<${Notice} what=${`${count(failed, "job")} of hooks failed.`} text=${html`<code>memotherm agent worker --once --retry</code> tries again.`} />`,
    waiting > 0 && html`<${Notice} what=${`${count(waiting, "job")} of hooks ${waiting === 1 ? "waits" : "wait"}.`} text=${html`They are stored when their sessions end, or by <code>memotherm agent worker --once --all</code>.`} />`,
    missed > 0 && html`<${Notice} what=${`${count(missed, "recall")} missed ${missed === 1 ? "its" : "their"} deadline`} text=${html`in the last 7 days, so that these prompts had no memories. <code>memotherm agent daemon start</code> makes them faster.`} />`,
    due && html`<${Notice} what=${backup ? "The last backup is old:" : "There is no backup."} text=${html`${backup && html`it was made <${Time} at=${backup} />. `}<code>memotherm store checkpoint FILE</code> makes one.`} />`,
  ].filter(Boolean);
}

export function Alerts({ status, onChange }) {
  const attention = useLoaded(() => get("/attention"), [status]);
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
