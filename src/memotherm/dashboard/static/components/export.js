// What a list shows as a file, JSON or CSV.
import { html, useState } from "../html.js";
import { get } from "../api.js";
import { toastError } from "./toast.js";

const LARGEST = 1000, MOST = 10_000;

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

// Return what a route lists on all its pages, up to a number.
export async function allPages(path, query, name) {
  const found = [];
  for (let cursor = null; found.length < MOST;) {
    const page = await get(path, { ...query, limit: LARGEST, cursor });
    found.push(...page[name]);
    cursor = page.cursor;
    if (!cursor) break;
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
