// Controls that several pages use: what is loaded, filters, exports, tables, messages and dialogs.
import { html, useEffect, useLayoutEffect, useRef, useState } from "./vendor/htm-preact.module.js";
import { number, scopeFields, scopeName, time, when } from "./format.js";
import { hrefOf, parseRoute, setParams, useParam } from "./route.js";
import { get, post } from "./server.js";

export const Tier = ({ tier }) => html`<span class="tier ${tier}">${tier}</span>`;
// A moment in the words that say most; the exact one is its title.
export const Time = ({ at, text = at && when(at) }) => (at ? html`<time datetime=${at} title=${time(at)}>${text}</time>` : "–");
// A scope by its names; its fields are its title. `session` is what to call its session.
export const ScopeName = ({ scope, session }) => html`<span class="scope" title=${scopeFields(scope)}>${scopeName(scope, session)}</span>`;

export const memoryHref = (id) => hrefOf(["memory", id]);
export const MemoryLink = ({ id, children }) => html`<a href=${memoryHref(id)}>${children ?? id}</a>`;

// Rows that take the place of what is loaded, so that the page does not jump.
export const Skeleton = ({ rows = 4 }) => html`<div class="skeleton loading" role="status" aria-label="Loading">
  ${Array.from({ length: rows }, (_, index) => html`<span key=${index}></span>`)}</div>`;

// A value that is loaded: the error with its remedy, rows in its place while it is loaded, or what it renders to.
export function Loaded({ state, children, rows }) {
  if (state.error && state.value === undefined) return html`<${ErrorNotice} error=${state.error} retry=${state.reload} />`;
  if (state.value === undefined) return html`<${Skeleton} rows=${rows} />`;
  return html`${state.error && html`<${ErrorNotice} error=${state.error} retry=${state.reload} />`}${children(state.value)}`;
}

export const ErrorNotice = ({ error, retry }) => html`<div class="notice row" role="alert"><p>${error.message}</p>
  ${retry && html`<button type="button" onClick=${retry}>Try again</button>`}</div>`;

// Which part of a long list is shown, with links to the others; `first` is a parameter of the address.
export const PAGE = 50;
export function Pager({ count, first, more = false }) {
  const { path, params } = parseRoute();
  const link = (place, text) => html`<a class="button" href=${hrefOf(path, { ...Object.fromEntries(params), first: place || "" })}>${text}</a>`;
  return count > PAGE && html`<nav class="buttons" aria-label="Parts of the list">${first > 0 && link(Math.max(0, first - PAGE), "Previous")}
    <span class="hint">${number(first + 1)} to ${number(Math.min(count, first + PAGE))} of ${more ? "more than " : ""}${number(count)}</span>${first + PAGE < count && link(first + PAGE, "Next")}</nav>`;
}

// What to do where there is nothing to show.
export const Empty = ({ title, children }) => html`<div class="empty"><p><strong>${title}</strong></p>${children && html`<p>${children}</p>`}</div>`;

// What opens beside its button: an element <details>, which Escape or a click beside it closes.
export function useDismissed() {
  const element = useRef(null);
  useEffect(() => {
    const isOpen = () => element.current?.open;
    const keys = (event) => {
      if (event.key !== "Escape" || !isOpen()) return;
      // What lies below it stays open.
      event.preventDefault();
      if (element.current.contains(document.activeElement)) element.current.querySelector("summary").focus();
      element.current.open = false;
    };
    const click = (event) => { if (isOpen() && !element.current.contains(event.target)) element.current.open = false; };
    addEventListener("keydown", keys, true);
    addEventListener("click", click);
    return () => { removeEventListener("keydown", keys, true); removeEventListener("click", click); };
  }, []);
  return element;
}

export const Popover = ({ button, label, onToggle = () => {}, children }) => html`<details class="popover" ref=${useDismissed()} onToggle=${(event) => onToggle(event.currentTarget.open)}>
  <summary class="button chip">${button}</summary><div role="group" aria-label=${label}>${children}</div></details>`;

// Controls whose values are parameters of the address.

const DELAY_MILLISECONDS = 300;

export function SelectFilter({ name, label, options, fallback = "" }) {
  const [value, setValue] = useParam(name, fallback);
  return html`<div class="field"><label for=${`filter-${name}`}>${label}</label>
    <select id=${`filter-${name}`} value=${value} onChange=${(event) => setValue(event.target.value)}>
      ${options.map(([option, text]) => html`<option key=${option} value=${option} selected=${option === value}>${text}</option>`)}
    </select></div>`;
}

// The time that all charts show; links keep it, as they keep the scope.
const PERIODS = [["1d", "a day"], ["7d", "a week"], ["30d", "30 days"], ["90d", "90 days"], ["365d", "a year"]];
const USUAL = "30d";
export const PeriodFilter = () => html`<${SelectFilter} name="period" label="Period" options=${PERIODS} fallback=${USUAL} />`;
export function usePeriod() {
  const [period] = useParam("period", USUAL);
  const [, name] = PERIODS.find(([value]) => value === period) ?? [null, period];
  return { period, name, days: parseInt(period, 10) || parseInt(USUAL, 10) };
}

// A parameter that the reader types: [what the control shows, its handler of input, the value that has taken effect].
// It takes effect when the reader pauses, unless `check` returns what is wrong with it.
export function useTypedParam(name, { fallback = "", check = () => "" } = {}) {
  const [value, setValue] = useParam(name, fallback);
  const [shown, setShown] = useState(value);
  const timer = useRef(0);
  // A space at the end stays while the reader goes on typing.
  useEffect(() => setShown((before) => (before.trim() === value ? before : value)), [value]);
  useEffect(() => () => clearTimeout(timer.current), []);
  const change = (event) => {
    const typed = event.target.value;
    setShown(typed);
    clearTimeout(timer.current);
    if (!check(typed)) timer.current = setTimeout(() => setValue(typed.trim()), DELAY_MILLISECONDS);
  };
  return [shown, change, value];
}

export function TextFilter({ name, label, type = "text", placeholder = "", list, check = () => "" }) {
  const [text, change] = useTypedParam(name, { check });
  const error = check(text);
  return html`<div class="field"><label for=${`filter-${name}`}>${label}</label>
    <input id=${`filter-${name}`} type=${type} value=${text} placeholder=${placeholder} list=${list} aria-invalid=${error ? "true" : undefined} title=${error} onInput=${change} />
    ${error && html`<span class="hint error">${error}</span>`}</div>`;
}

export function CheckFilter({ name, label, fallback = false }) {
  const [value] = useParam(name, String(fallback));
  return html`<label class="check"><input type="checkbox" checked=${value === "true"}
    onChange=${(event) => setParams({ [name]: event.target.checked === fallback ? "" : String(event.target.checked) })} /> ${label}</label>`;
}

// What a list shows as a file, JSON or CSV.

const LARGEST = 1000;

// Let the browser save a text as a file.
export function download(name, text, type) {
  const address = URL.createObjectURL(new Blob([text], { type }));
  Object.assign(document.createElement("a"), { href: address, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(address), 1000);
}

// A value as a cell; a text that a spreadsheet would take for a formula begins with a quote.
function cell(value) {
  if (value === null || value === undefined) return "";
  const text = typeof value === "object" ? JSON.stringify(value) : String(value);
  const plain = typeof value === "string" && /^[=+@\t\r-]/.test(text) ? `'${text}` : text;
  return /[",\n\r]/.test(plain) ? `"${plain.replaceAll('"', '""')}"` : plain;
}

function csv(rows) {
  const names = [...new Set(rows.flatMap(Object.keys))];
  return [names, ...rows.map((row) => names.map((name) => row[name]))].map((row) => row.map(cell).join(",")).join("\r\n");
}

// Return what a route lists on all its pages.
export async function allPages(path, query, name) {
  const found = [];
  for (let cursor = null; ;) {
    const page = await get(path, { ...query, limit: LARGEST, cursor });
    found.push(...page[name]);
    cursor = page.cursor;
    if (!cursor) return found;
  }
}

// Return all memories that match filters, or the first of them.
export async function allRows(filters, order, most = Infinity) {
  const found = [];
  while (found.length < most) {
    const limit = Math.min(LARGEST, most - found.length);
    const { memories } = await post("/memories:find", { ...filters, order, skip: found.length, limit, include_narrower: true });
    found.push(...memories);
    if (memories.length < limit) break;
  }
  return found;
}

// `rows` are the rows, or a function that reads them.
export function Exports({ name, rows }) {
  const [busy, setBusy] = useState(false);
  const save = async (suffix) => {
    setBusy(true);
    try {
      const found = typeof rows === "function" ? await rows() : rows;
      const file = name.toLowerCase().replaceAll(/[^a-z0-9]+/g, "-");
      if (suffix === "json") download(`${file}.json`, JSON.stringify(found, null, 2), "application/json");
      else download(`${file}.csv`, csv(found), "text/csv");
    } catch (error) {
      toastError(error);
    }
    setBusy(false);
  };
  return html`<span class="exports">${["json", "csv"].map((suffix) => html`<button key=${suffix} type="button" class="link hint" disabled=${busy} aria-label=${`.${suffix} of ${name}`} onClick=${() => save(suffix)}>.${suffix}</button>`)}</span>`;
}

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

// Short messages at the edge of the page, with a button that undoes the change they report.

const SECONDS = 20;
const UNDONE = "Undone: ";
let shown = [];
let listener = () => {};
let next = 1;

function show(list) { shown = list; listener(shown); }
function dismiss(id) { show(shown.filter((each) => each.id !== id)); }

// Show a message. `undo` is an asynchronous function; `error` marks a failure, which stays until it is dismissed.
export function toast(text, { undo = null, error = false } = {}) {
  const id = next++;
  show([...shown.slice(-4), { id, text, undo, error }]);
  return id;
}

export function toastError(error) { toast(error.message || String(error), { error: true }); }

function Toast({ id, text, undo, error }) {
  const [busy, setBusy] = useState(false);
  const [held, setHeld] = useState(false);
  useEffect(() => {
    if (error || held || busy) return undefined;
    const timer = setTimeout(() => dismiss(id), SECONDS * 1000);
    return () => clearTimeout(timer);
  }, [error, held, busy]);
  const run = async () => {
    setBusy(true);
    try {
      await undo();
      dismiss(id);
      toast(text.startsWith(UNDONE) ? `Done again: ${text.slice(UNDONE.length)}` : `${UNDONE}${text}`);
    } catch (problem) {
      dismiss(id);
      toastError(problem);
    }
  };
  return html`<div class=${error ? "toast error" : "toast"} role=${error ? "alert" : undefined}
      onMouseEnter=${() => setHeld(true)} onMouseLeave=${() => setHeld(false)}
      onFocusIn=${() => setHeld(true)} onFocusOut=${() => setHeld(false)}>
    <span>${text}</span>
    ${undo && html`<button type="button" disabled=${busy} onClick=${run}>Undo</button>`}
    <button type="button" class="quiet" aria-label="Dismiss" onClick=${() => dismiss(id)}>×</button>
  </div>`;
}

export function Toasts() {
  const [list, setList] = useState(shown);
  useEffect(() => { listener = setList; return () => { listener = () => {}; }; }, []);
  return html`<div class="toasts" role="status" aria-live="polite">
    ${list.map((each) => html`<${Toast} key=${each.id} ...${each} />`)}
  </div>`;
}

// Modal dialogs: the element <dialog> keeps the focus inside; Escape or a click beside it closes it.

export function Dialog({ title, titleHidden = false, kind = "", onClose, children }) {
  const element = useRef(null);
  useLayoutEffect(() => {
    const before = document.activeElement;
    element.current.showModal();
    return () => { if (before?.isConnected) before.focus(); };
  }, []);
  // A click beside the dialog is one on the dialog itself, outside of its box. What was written is not lost by it.
  const click = ({ target, clientX, clientY }) => {
    const { left, right, top, bottom } = element.current.getBoundingClientRect();
    const beside = clientX < left || clientX > right || clientY < top || clientY > bottom;
    if (target === element.current && beside && ![...target.querySelectorAll("textarea")].some((field) => field.value)) onClose();
  };
  return html`<dialog ref=${element} class=${kind} aria-labelledby="dialog-title" onClose=${onClose} onClick=${click}>
    <h2 id="dialog-title" class=${titleHidden ? "hidden" : ""}>${title}</h2>
    ${children}
  </dialog>`;
}

let present = () => {};

// Ask the reader to confirm, and return whether they did.
//   typed: a word that must be typed first, for what cannot be undone.
export function confirm({ title, text, action, typed = null, danger = false }) {
  return new Promise((resolve) => present({ title, text, action, typed, danger, resolve }));
}

function Confirmation({ title, text, action, typed, danger, resolve }) {
  const [word, setWord] = useState("");
  const close = (result) => { present(null); resolve(result); };
  const submit = (event) => {
    event.preventDefault();
    if (typed === null || word === typed) close(true);
  };
  return html`<${Dialog} title=${title} onClose=${() => close(false)}>
    <form onSubmit=${submit}>
      <p>${text}</p>
      ${typed !== null && html`<label>Type <strong>${typed}</strong> to confirm
        <input type="text" autocomplete="off" spellcheck=${false} value=${word}
          onInput=${(event) => setWord(event.target.value)} /></label>`}
      <div class="buttons">
        <button type="button" onClick=${() => close(false)}>Cancel</button>
        <button type="submit" class=${danger ? "danger" : "primary"} disabled=${typed !== null && word !== typed}>${action}</button>
      </div>
    </form>
  </${Dialog}>`;
}

export function Confirmations() {
  const [asked, setAsked] = useState(null);
  useEffect(() => { present = setAsked; return () => { present = () => {}; }; }, []);
  return asked && html`<${Confirmation} ...${asked} />`;
}
