// The text of a context as the model sees it, marked by the tiers of its memories, and lists of what is in it or not.
import { html, useState } from "./vendor/htm-preact.module.js";
import { MemoryLink, Tier } from "./controls.js";
import { decimal, GROUPS, number, PARTS, tokens } from "./format.js";
import { hrefOf, parseRoute, useParam } from "./route.js";

const MOST = 50;

export const partOf = (entry) => PARTS[entry.reasons[0].code];

// Return the parts of a context in its order, [name, tokens, memories]; what is around its memories is the frame.
function partsOf({ included, tokens: all }) {
  const parts = new Map();
  for (const entry of included) {
    const [used, memories] = parts.get(partOf(entry)) ?? [0, 0];
    parts.set(partOf(entry), [used + entry.tokens, memories + 1]);
  }
  const listed = [...parts].map(([name, [used, memories]]) => [name, used, memories]);
  const frame = all - listed.reduce((sum, [, used]) => sum + used, 0);
  return frame > 0 ? [...listed, ["frame", frame, 0]] : listed;
}

// The budget of a context as a bar of its parts. Each leads to its memories, on the page of the address or at `path`.
export function ContextBar({ receipt, path, params = {} }) {
  const [chosen] = useParam("part");
  const here = parseRoute();
  const href = (name) => (path ? hrefOf(path, { ...params, part: name }) : hrefOf(here.path, { ...Object.fromEntries(here.params), part: name === chosen ? "" : name }));
  const parts = partsOf(receipt);
  const width = (used) => ({ width: `${(100 * used) / Math.max(1, receipt.budget, receipt.tokens)}%` });
  const shade = (index) => `shade-${(index % 4) + 1}`;
  return html`<div class="bar-meter" aria-hidden="true">${parts.map(([name, used, memories], index) => (memories
      ? html`<a key=${name} class=${shade(index)} tabindex="-1" title=${`${name}: ${tokens(used)}`} href=${href(name)} style=${width(used)}></a>`
      : html`<span key=${name} class="frame-part" title=${`${name}: ${tokens(used)}`} style=${width(used)}></span>`))}</div>
    <ul class="legend">${parts.map(([name, used, memories], index) => html`<li key=${name}><span class="swatch ${memories ? shade(index) : "frame-part"}" aria-hidden="true"></span>
      ${memories ? html`<a href=${href(name)} aria-current=${name === chosen ? "true" : undefined}>${name} ${number(memories)}</a>` : name} <span class="hint">${tokens(used)}</span></li>`)}</ul>`;
}

// Return the memories of the part that the address names; all without one.
export function useOfPart(entries) {
  const [part] = useParam("part");
  const found = entries.filter((entry) => partOf(entry) === part);
  return found.length ? { part, entries: found } : { part: "", entries };
}

export function ContextText({ of = "", parts, included, selected = () => false, onSelect = () => {} }) {
  const places = new Map(included.map((entry, index) => [entry.id, [index, entry]]));
  return html`<div class="content context" tabindex="0" role="region" aria-label=${`The context as the model sees it${of}`}>
    ${parts.map((part, index) => {
      const [place, entry] = places.get(part.id) ?? [];
      return part.id === null ? html`<span key=${index} class="frame">${part.text}</span>`
        : html`<span key=${index} class="part ${entry?.tier ?? ""} ${selected(entry) ? "chosen" : ""}" onClick=${() => onSelect(part.id)}><span class="mark" aria-hidden="true">${place + 1}</span>${part.text}</span>`;
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

// The memories of a context, or of the part of it that the address names.
export function Included({ title, entries: all, most = MOST }) {
  const { part, entries } = useOfPart(all);
  return html`<h3>${title}: ${number(all.length)}${part && html`<span class="hint"> · ${part}: ${number(entries.length)}</span>`}</h3><${Entries} key=${part} entries=${entries} facts=${inText} most=${most} />`;
}

const inText = (entry) => html`<span>${tokens(entry.tokens)}${entry.form === "full" ? "" : `, ${entry.form}`}</span>`;

// What was left out, by the short answers to "why is it not in the prompt" that the codes of its reasons have.
export const leftOutGroups = (receipt) => [...new Set(Object.values(GROUPS))].map((title) => [title, receipt.left_out.filter((entry) => GROUPS[entry.rule] === title)]);
