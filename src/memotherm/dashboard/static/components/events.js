// Events of the ledger in words.
import { html } from "../html.js";
import { shortened } from "../format.js";

const LONGEST = 80;
const short = (value) => {
  const text = value === null || value === undefined ? "nothing" : typeof value === "object" ? JSON.stringify(value) : String(value);
  return shortened(text, LONGEST);
};
// What follows from other changes, or is shown elsewhere.
const HIDDEN = new Set(["tier_rule", "content"]);

export const isMove = (event) => "tier" in event.changes || "retention" in event.changes;

export function Changes({ event }) {
  const shown = Object.entries(event.changes).filter(([name]) => !HIDDEN.has(name));
  const edited = "content" in event.changes;
  return html`<span>${shown.map(([name, { from, to }], index) =>
    html`${index ? ", " : ""}${name} ${from === null ? "" : `${short(from)} → `}<strong>${short(to)}</strong>`)}
    ${edited && html`${shown.length ? ", " : ""}<strong>content edited</strong>`}</span>`;
}

export const Cause = ({ event }) => html`<span>${event.why || "No reason given"} <span class="hint">(${event.rule || "no rule"}, by ${event.actor})</span></span>`;
