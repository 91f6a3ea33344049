// Filters and orders of the table under names of the reader, kept in this browser.
import { html, useState } from "../html.js";
import { parseRoute } from "../route.js";

const PLACE = "memotherm.views";
const read = () => { try { return JSON.parse(localStorage.getItem(PLACE)) ?? {}; } catch { return {}; } };

export function Views() {
  const [views, setViews] = useState(read);
  const [name, setName] = useState("");
  const store = (changed) => { localStorage.setItem(PLACE, JSON.stringify(changed)); setViews(changed); };
  const save = (event) => {
    event.preventDefault();
    const { params } = parseRoute();
    params.delete("open");
    store({ ...views, [name.trim()]: params.toString() });
    setName("");
  };
  const remove = (gone) => store(Object.fromEntries(Object.entries(views).filter(([each]) => each !== gone)));
  return html`<details class="popover"><summary class="button chip">Views</summary><div role="group" aria-label="Saved views">
    ${Object.entries(views).map(([each, query]) => html`<div key=${each} class="row"><a class="grow" href=${`#/memories?${query}`}>${each}</a><button type="button" class="quiet small" aria-label=${`Remove the view ${each}`} onClick=${() => remove(each)}>×</button></div>`)}
    <form class="row" onSubmit=${save}><input type="text" aria-label="Name of the view" placeholder="Save this view as" maxlength="60" value=${name} onInput=${(event) => setName(event.target.value)} /><button type="submit" class="small" disabled=${!name.trim()}>Save</button></form></div></details>`;
}
