// Search from anywhere: memories by meaning and words, and pages by name.
import { html, useEffect, useRef, useState } from "../html.js";
import { shortened, titleOf } from "../format.js";
import { NAVIGATION } from "../pages/index.js";
import { navigate } from "../route.js";
import { search } from "../search.js";
import { Tier } from "./basics.js";
import { Dialog } from "./dialog.js";

const DELAY_MILLISECONDS = 150;
const SHOWN = 8;

const pagesOf = (text) => NAVIGATION.flatMap((group) => group.pages).filter((page) => page.title.toLowerCase().includes(text.toLowerCase()))
  .map((page) => ({ key: `page ${page.path}`, open: () => navigate([page.path]), label: html`<span>Go to ${page.title}</span>` }));
const entryOf = (memory) => ({ key: memory.id, open: () => navigate(["memory", memory.id]),
  label: html`<div class="row"><${Tier} tier=${memory.tier} /><span class="grow line">${titleOf(memory.content)}</span></div>` });

export function Palette({ onClose }) {
  const [text, setText] = useState("");
  const [found, setFound] = useState([]);
  const [chosen, setChosen] = useState(0);
  const [state, setState] = useState("");
  const list = useRef(null);
  const asked = text.trim();
  useEffect(() => {
    setChosen(0);
    if (!asked) { setFound([]); setState(""); return undefined; }
    let current = true;
    const timer = setTimeout(() => search(asked, {}, SHOWN).then((memories) => {
      if (current) { setFound(memories.slice(0, SHOWN)); setState(memories.length ? "" : "No memory says this."); }
    }, (error) => current && setState(error.message)), DELAY_MILLISECONDS);
    return () => { current = false; clearTimeout(timer); };
  }, [asked]);
  const all = asked ? [{ key: "all", open: () => navigate(["memories"], { q: asked }), label: html`<span>Show all memories for “${shortened(asked, 40)}”</span>` }] : [];
  const entries = [...found.map(entryOf), ...pagesOf(asked), ...all];
  const open = (entry) => { onClose(); entry.open(); };
  const move = (step) => {
    const next = (chosen + step + entries.length) % entries.length;
    setChosen(next);
    list.current.children[next]?.scrollIntoView({ block: "nearest" });
  };
  const keys = (event) => {
    const actions = { ArrowDown: () => move(1), ArrowUp: () => move(-1), Enter: () => entries[chosen] && open(entries[chosen]) };
    if (!actions[event.key]) return;
    event.preventDefault();
    actions[event.key]();
  };
  return html`<${Dialog} title="Search" titleHidden kind="palette" onClose=${onClose}>
    <input type="search" role="combobox" aria-label="Search memories and pages" aria-expanded="true" aria-controls="palette-list" aria-activedescendant=${`palette-${chosen}`}
      placeholder="Search memories and pages" value=${text} onInput=${(event) => setText(event.target.value)} onKeyDown=${keys} />
    <p class="hint" role="status">${state}</p>
    <ul class="plain" id="palette-list" role="listbox" aria-label="Results" ref=${list}>${entries.map((entry, index) => html`<li key=${entry.key} id=${`palette-${index}`} role="option"
      aria-selected=${index === chosen ? "true" : "false"} onClick=${() => open(entry)}>${entry.label}</li>`)}</ul>
  </${Dialog}>`;
}
