// The text of a context as the model sees it, marked by the tiers of its memories, and lists of what is in it or not.
import { html, useState } from "../html.js";
import { decimal, number, tokens } from "../format.js";
import { MemoryLink, Tier } from "./basics.js";
// Made by the server of the codes that it records.
import { GROUPS } from "./words.js";

const MOST = 50;

export function ContextText({ of = "", parts, included, selected, onSelect = () => {} }) {
  const places = new Map(included.map((entry, index) => [entry.id, [index, entry]]));
  return html`<div class="content context" tabindex="0" role="region" aria-label=${`The context as the model sees it${of}`}>
    ${parts.map((part, index) => {
      const [place, entry] = places.get(part.id) ?? [];
      return part.id === null ? html`<span key=${index} class="frame">${part.text}</span>`
        : html`<span key=${index} class="part ${entry?.tier ?? ""} ${part.id === selected ? "chosen" : ""}" onClick=${() => onSelect(part.id)}><span class="mark" aria-hidden="true">${place + 1}</span>${part.text}</span>`;
    })}</div>`;
}

// The memory that enters next with a larger budget: the left-out one with the smallest budget above the current one.
export function nextToEnter(receipt, budget) {
  const waiting = receipt.left_out.filter((entry) => entry.fits_at !== null && entry.fits_at > budget);
  return waiting.sort((one, other) => one.fits_at - other.fits_at)[0] || null;
}

// Memories of a receipt, each with its tier, tokens and reason; `facts` returns more about one.
export function Entries({ entries, facts = () => [], most = MOST }) {
  const [all, setAll] = useState(false);
  const shown = all ? entries : entries.slice(0, most);
  return html`<ol class="plain rows">${shown.map((entry) => html`<li key=${entry.id}><${MemoryLink} id=${entry.id}>${entry.title ?? "a memory that is gone"}</${MemoryLink}>
      <div class="meta">${entry.tier && html`<${Tier} tier=${entry.tier} />`}${entry.score !== null && html`<span>score ${decimal(entry.score)}</span>`}${facts(entry)}<span>${entry.reason}</span></div></li>`)}</ol>
    ${shown.length < entries.length && html`<button type="button" class="link" onClick=${() => setAll(true)}>Show all ${number(entries.length)}</button>`}`;
}

export const inText = (entry) => html`<span>${tokens(entry.tokens)}${entry.form === "full" ? "" : `, ${entry.form}`}</span>`;

// What was left out, by the short answers to "why is it not in the prompt" that the codes of its reasons have.
export const leftOutGroups = (receipt) => [...new Set(Object.values(GROUPS))].map((title) => [title, receipt.left_out.filter((entry) => GROUPS[entry.rule] === title)]);
