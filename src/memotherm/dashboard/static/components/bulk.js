// Actions on the chosen memories. What was done before the reader stops it can be undone like the whole.
import { html, useRef, useState } from "../html.js";
import { ACTIONS, applyAction, editing, PRIORITIES, prioritizing, PURGE, rescoping } from "../actions.js";
import { get } from "../api.js";
import { Exports } from "./export.js";
import { memories as memoriesText, number, scopeName } from "../format.js";
import { useLoaded } from "../loading.js";
import { KINDS, tagsOf } from "./add-memory.js";

export function Bulk({ chosen, count, most, onAll, onNone, onChange }) {
  const [progress, setProgress] = useState(0);
  const [tags, setTags] = useState("");
  const running = useRef(null);
  const scopes = useLoaded(() => get("/scopes", {}, { scope: {} }));
  const places = (scopes.value?.scopes ?? []).map(({ scope }) => scope).filter((scope) => !("session" in scope));
  const run = async (action) => {
    running.current = new AbortController();
    const changed = await applyAction(action, chosen, { onProgress: setProgress, signal: running.current.signal, onChange });
    setProgress(0);
    if (changed) onNone();
  };
  const choice = (label, options, actionOf) => html`<select aria-label=${label} value="" disabled=${progress > 0} onChange=${(event) => { const { value } = event.target; event.target.value = ""; if (value) run(actionOf(value)); }}>
    <option value="">${label}</option>${options.map((option) => html`<option key=${option} value=${option}>${option}</option>`)}</select>`;
  const addTags = (event) => {
    event.preventDefault();
    if (tagsOf(tags).length) run(editing("Add tags", "Tagged", (memory) => ({ tags: [...new Set([...memory.tags, ...tagsOf(tags)])] })));
  };
  return html`<div class="notice" role="group" aria-label="Actions on the chosen memories">
    <div class="buttons"><strong>${memoriesText(chosen.length)} chosen</strong>
      ${chosen.length < count && html`<button type="button" class="link" onClick=${onAll}>Choose ${count > most ? `the first ${number(most)}` : `all ${number(count)}`}</button>`}
      <button type="button" class="link" onClick=${onNone}>Choose none</button>
      ${count > most && html`<span class="hint">At most ${number(most)} memories are changed at once: filters choose which.</span>`}</div>
    <div class="buttons">${ACTIONS.filter((action) => chosen.some(action.fits)).map((action) => html`<button key=${action.name} type="button" class="small" disabled=${progress > 0} onClick=${() => run(action)}>${action.name}</button>`)}
      ${choice("Set priority", PRIORITIES, prioritizing)}
      ${choice("Set kind", KINDS, (kind) => editing(`Set the kind ${kind}`, `Made ${kind}`, () => ({ kind })))}
      ${choice("Move to scope", places.map(scopeName), (name) => rescoping(places.find((scope) => scopeName(scope) === name)))}
      <form class="row" onSubmit=${addTags}><input type="text" aria-label="Tags to add" placeholder="Add tags" size="10" value=${tags} onInput=${(event) => setTags(event.target.value)} /><button type="submit" class="small" disabled=${progress > 0 || !tags.trim()}>Tag</button></form>
      <${Exports} name="chosen memories" rows=${chosen} />
      <details><summary class="hint">Purge</summary><button type="button" class="small danger" disabled=${progress > 0} onClick=${() => run(PURGE)}>Purge ${memoriesText(chosen.length)}</button></details>
      ${progress > 0 && chosen.length > 1 && html`<progress aria-label="Progress" max=${chosen.length} value=${progress}></progress>
        <span>${number(progress)} of ${number(chosen.length)}</span><button type="button" class="small" onClick=${() => running.current.abort()}>Stop</button>`}</div>
  </div>`;
}
