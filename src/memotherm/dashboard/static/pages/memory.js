import { html } from "../html.js";

export const MemoryPage = () => html`<p class="loading">Loading…</p>`;
