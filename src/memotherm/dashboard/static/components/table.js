// Tables: a plain one, and one that renders only the rows in view.
import { html, useEffect, useLayoutEffect, useRef, useState } from "../html.js";
import { number } from "../format.js";
import { Exports } from "./export.js";

const ROW_PIXELS = 56;
const MORE_ROWS = 8;

// A table of all its rows, or of the first `most` until the reader asks for all. Columns: {name, label, cell(row), number?}.
export function Table({ caption, columns, rows, empty = "Nothing to show.", most = Infinity }) {
  const [all, setAll] = useState(false);
  if (!rows.length) return html`<p class="empty">${empty}</p>`;
  const shown = all ? rows : rows.slice(0, most);
  return html`<div class="scroll" tabindex="0" role="region" aria-label=${caption}>
    <table><caption class="hidden">${caption}</caption>
      <thead><tr>${columns.map((column) => html`<th key=${column.name} scope="col" class=${column.number ? "number" : ""}>${column.label}</th>`)}</tr></thead>
      <tbody>${shown.map((row, index) => html`<tr key=${row.id ?? row.seq ?? index}>
        ${columns.map((column) => html`<td key=${column.name} class=${column.number ? "number" : ""}>${column.cell(row)}</td>`)}</tr>`)}
      </tbody></table></div>
    <${Exports} name=${caption} rows=${rows} />
    ${shown.length < rows.length && html`<button type="button" class="link" onClick=${() => setAll(true)}>Show all ${number(rows.length)} rows</button>`}`;
}

// A table of `count` rows of which only those in view exist in the document. `row(index)` returns a row, or undefined
// while it is loaded; `classOf(row)` its class; `onRange(first, last)` tells which rows are in view. Rows are chosen with the arrow keys;
// a row belongs to its memory, so that the focus does not go to another one when the rows are loaded again.
export function VirtualTable({ caption, columns, count, row, onRange, header = (column) => column.label, onOpen = () => {}, classOf = () => "" }) {
  const element = useRef(null);
  const [view, setView] = useState({ first: 0, last: 30 });
  const [active, setActive] = useState(0);
  const measure = () => {
    const box = element.current;
    const first = Math.max(0, Math.floor(box.scrollTop / ROW_PIXELS) - MORE_ROWS);
    const last = Math.min(count, Math.ceil((box.scrollTop + box.clientHeight) / ROW_PIXELS) + MORE_ROWS);
    if (first !== view.first || last !== view.last) setView({ first, last });
  };
  useLayoutEffect(measure, [count]);
  useEffect(() => { onRange(view.first, view.last); }, [view, count]);
  useEffect(() => { if (active >= count) setActive(Math.max(0, count - 1)); }, [count]);
  const move = (index) => {
    const target = Math.min(count - 1, Math.max(0, index));
    setActive(target);
    const box = element.current, top = target * ROW_PIXELS, height = box.clientHeight - 2 * ROW_PIXELS;
    if (top < box.scrollTop) box.scrollTop = top;
    else if (top > box.scrollTop + height) box.scrollTop = top - height;
    requestAnimationFrame(() => box.querySelector(`[data-index="${target}"]`)?.focus());
  };
  const keys = (event) => {
    if (event.target.tagName !== "TR") return;
    const page = Math.max(1, Math.floor(element.current.clientHeight / ROW_PIXELS) - 2);
    const steps = { ArrowDown: active + 1, ArrowUp: active - 1, PageDown: active + page, PageUp: active - page, Home: 0, End: count - 1 };
    if (event.key in steps) { event.preventDefault(); move(steps[event.key]); }
    if (event.key === "Enter" && row(active)) onOpen(row(active));
  };
  const indexes = Array.from({ length: Math.max(0, Math.min(view.last, count) - view.first) }, (_, offset) => view.first + offset);
  return html`<div class="scroll virtual" ref=${element} onScroll=${measure} onKeyDown=${keys} tabindex="0" role="region" aria-label=${caption}>
    <table aria-rowcount=${count + 1}><caption class="hidden">${caption}</caption>
      <thead><tr aria-rowindex="1">${columns.map((column) => html`<th key=${column.name} scope="col" class=${column.name}
        aria-sort=${column.sorted || undefined}>${header(column)}</th>`)}</tr></thead>
      <tbody>
        <tr class="space" aria-hidden="true" style=${{ height: `${view.first * ROW_PIXELS}px` }}><td></td></tr>
        ${indexes.map((index) => {
          const found = row(index);
          return html`<tr key=${found ? found.id : index} data-index=${index} data-id=${found?.id} aria-rowindex=${index + 2} tabindex=${index === active ? 0 : -1}
              class=${found ? classOf(found) : ""} onFocus=${() => setActive(index)} onClick=${(event) => { if (found && !event.target.closest("a, button, input")) onOpen(found); }}
              aria-busy=${found ? undefined : "true"}>
            ${columns.map((column) => html`<td key=${column.name} class=${column.name}>${found ? column.cell(found) : html`<div class="skeleton"><span></span></div>`}</td>`)}</tr>`;
        })}
        <tr class="space" aria-hidden="true" style=${{ height: `${Math.max(0, count - view.last) * ROW_PIXELS}px` }}><td></td></tr>
      </tbody></table></div>`;
}
