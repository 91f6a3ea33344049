// What happened when: by day, project and session; and what each import of past sessions has stored, with undo.
import { html } from "../vendor/htm-preact.module.js";
import { confirm, Empty, Exports, Loaded, TextFilter, toast } from "../controls.js";
import { clock, count, day, dayName, memories, number } from "../format.js";
import { useRoute } from "../route.js";
import { get, post, useEvents, useLoaded, useWritable } from "../server.js";

const SINCE = "30d", MOST_FILES = 5;

// Return activities as [day, [[project, activities]]], in their order.
function byDay(activities) {
  const days = new Map();
  for (const activity of activities) {
    const projects = days.get(activity.day) || new Map();
    projects.set(activity.project, [...(projects.get(activity.project) || []), activity]);
    days.set(activity.day, projects);
  }
  return [...days].map(([name, projects]) => [name, [...projects]]);
}

const Row = ({ activity }) => html`<li class="event"><time datetime=${activity.first} class="hint">${clock(activity.first)}</time>
  <div class="what"><div class="line">${activity.title}</div><span class="hint">${[memories(activity.memories), activity.files.slice(0, MOST_FILES).join(", "), activity.files.length > MOST_FILES ? `and ${count(activity.files.length - MOST_FILES, "file")} more` : ""].filter(Boolean).join(" · ")}</span></div></li>`;

async function undoBatch(batch, onChange) {
  if (!await confirm({ title: `Undo the import of ${memories(batch.stored)}?`, action: "Undo all", text: "Its memories are deleted, and memories that they superseded hold again. Memories changed since then are left as they are." })) return;
  try {
    const { memories: undone, skipped } = await post("/events:undo", { batch: batch.name }, { scope: {} });
    toast(`Undone: ${memories(undone.length)} of past sessions${skipped.length ? `; ${number(skipped.length)} changes could not be undone: ${skipped[0].why}` : ""}`, { error: !undone.length });
  } catch (error) {
    toast(error.message, { error: true });
  }
  onChange();
}

const Batches = ({ batches, onChange }) => {
  const writable = useWritable();
  return html`<section aria-label="Imports of past sessions"><h2>Imports of past sessions</h2><ol class="plain">${batches.map((batch) => html`<li key=${batch.name} class="event"><time datetime=${batch.at} class="hint">${clock(batch.at)}</time>
    <div class="what"><strong>stored ${memories(batch.stored)}</strong> <span class="hint">${[dayName(batch.at), batch.name, batch.left < batch.stored ? `${number(batch.left)} left` : ""].filter(Boolean).join(" · ")}</span></div>
    ${writable && batch.left > 0 && html`<button type="button" class="small" aria-label=${`Undo all of ${batch.name}`} onClick=${() => undoBatch(batch, onChange)}>Undo all</button>`}</li>`)}</ol></section>`;
};

export function Timeline() {
  const { params } = useRoute();
  const since = params.get("since") || SINCE, until = params.get("until");
  const state = useLoaded(async () => {
    const [{ activities }, { batches }] = await Promise.all([get("/timeline", { since, until }), get("/batches")]);
    return { activities, batches };
  }, [since, until]);
  useEvents(state.reload);
  return html`<div class="filters"><${TextFilter} name="since" label="From" type="date" /><${TextFilter} name="until" label="Before" type="date" />${state.value && html`<${Exports} name="timeline" rows=${state.value.activities} />`}</div>
    <${Loaded} state=${state} rows=${8}>${({ activities, batches }) => html`
      ${activities.length === 0 && html`<${Empty} title="Nothing was said in this period."><code>memotherm backfill</code> makes memories of past sessions.</${Empty}>`}
      ${byDay(activities).map(([name, projects]) => html`<section key=${name} aria-label=${name}><h2 class="day"><time datetime=${name} title=${day(`${name}T12:00`)}>${dayName(`${name}T12:00`)}</time></h2>
        ${projects.map(([project, found]) => html`<h3 key=${project}>${project || "no project"}</h3><ol class="plain">${found.map((activity) => html`<${Row} key=${activity.session} activity=${activity} />`)}</ol>`)}</section>`)}
      ${batches.length > 0 && html`<${Batches} batches=${batches} onChange=${state.reload} />`}`}</${Loaded}>`;
}
