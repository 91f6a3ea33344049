// What needs attention, each with what helps.
import { html, useState } from "../html.js";
import { undoRun } from "../actions.js";
import { formatScope, post } from "../api.js";
import { count, memories, number, scopeName, tokens } from "../format.js";
import { useWritable } from "../login.js";
import { remedyOf } from "../remedies.js";
import { hrefOf } from "../route.js";
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

export function Alerts({ status, onChange }) {
  const limitOf = (scope) => ("session" in scope ? status.session_hot_limit : status.hot_limit);
  const over = status.scopes.filter(({ scope, hot }) => hot.tokens > limitOf(scope)).sort((one, other) => other.hot.tokens - one.hot.tokens);
  const waiting = status.retention.proposed;
  return html`${waiting > 0 && html`<div class="notice row"><p><strong>${count(waiting, "proposal")} ${waiting === 1 ? "waits" : "wait"}</strong> to be approved or rejected.</p><a class="button" href=${hrefOf(["review"])}>Review</a></div>`}
    ${over.slice(0, 5).map(({ scope, hot }) => html`<${OverBudget} key=${formatScope(scope)} scope=${scope} hot=${hot} limit=${limitOf(scope)} onChange=${onChange} />`)}
    ${over.length > 5 && html`<p class="hint">${memories(over.slice(5).reduce((sum, each) => sum + each.hot.items, 0))} in ${number(over.length - 5)} more scopes are over their budget.</p>`}
    ${status.degraded.map((notice) => html`<div key=${notice} class="notice row"><div><p><strong>Degraded:</strong> ${notice}</p><p>${remedyOf(notice)}</p></div><a class="button" href=${hrefOf(["health"])}>Open Health</a></div>`)}`;
}
