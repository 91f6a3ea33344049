// The parts of a score as a bar, with the same numbers as text.
import { html } from "../html.js";
import { decimal } from "../format.js";

// What adds up to the score, in the order of the bar.
const ADDED = [["relevance", "relevance", "shade-1"], ["use", "use", "shade-2"], ["boost", "priority", "shade-3"], ["tier", "tier", "shade-4"], ["newer", "newer version", "shade-4"]];
// The evidence that makes the relevance.
const EVIDENCE = [["vector", "meaning"], ["text", "words"], ["time", "time"]];

function evidence(parts) {
  const found = EVIDENCE.filter(([name]) => parts[name] !== null && parts[name] !== 0).map(([name, label]) => `${label} ${decimal(parts[name])}`);
  return [...found, ...(parts.author ? ["author"] : []), ...(parts.rerank === null || parts.rerank === undefined ? [] : [`reranked ${decimal(parts.rerank)}`])].join(", ");
}

// Return the parts that are not zero: [label, value, shade].
function addends(parts) {
  return ADDED.filter(([name]) => parts[name]).map(([name, label, shade]) => [label, parts[name], shade]);
}

const signed = (value) => (value < 0 ? decimal(value) : `+${decimal(value)}`);

export function ScoreBar({ score, parts }) {
  const found = addends(parts);
  // What is subtracted is pale at the end of the bar.
  const total = Math.max(1, found.reduce((sum, [, value]) => sum + Math.abs(value), 0));
  return html`<div class="score">
    <div class="bar" aria-hidden="true">${found.map(([label, value, shade]) => html`<span key=${label} class="${shade} ${value < 0 ? "minus" : ""}" style=${{ width: `${(100 * Math.abs(value)) / total}%` }}></span>`)}</div>
    <span class="hint"><strong>${decimal(score)}</strong> = ${found.map(([label, value], index) => `${index ? signed(value) : decimal(value)} ${label}`).join(" ") || "0"}${evidence(parts) && ` (${evidence(parts)})`}</span>
  </div>`;
}
