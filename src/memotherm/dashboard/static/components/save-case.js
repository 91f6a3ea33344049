// A question and the memories that must be found, as a case for `memotherm bench cases`.
import { html } from "../html.js";
import { parseScope } from "../api.js";
import { download } from "./export.js";
import { parseRoute } from "../route.js";
import { toast, toastError } from "./toast.js";

// JSON strings are valid TOML strings, except for the character DEL.
const text = (value) => JSON.stringify(value).replaceAll("\u007f", "\\u007f");

function caseOf(query, expected, { scope, tiers, include_narrower, limit = 10 }) {
  const fields = Object.entries(scope).map(([name, value]) => `${name} = ${text(value)}`).join(", ");
  return ["[[case]]", `query = ${text(query)}`, ...(fields ? [`scope = { ${fields} }`] : []), `tiers = [${tiers.map(text).join(", ")}]`,
    `limit = ${limit}`, `include_narrower = ${include_narrower}`, `expect = [${expected.map(text).join(", ")}]`, ""].join("\n");
}

export function SaveCase({ query, expected }) {
  const { params } = parseRoute();
  const written = caseOf(query, expected, {
    scope: parseScope(params.get("scope") || ""), tiers: (params.get("tiers") || "hot,warm").split(","), include_narrower: params.get("include_narrower") !== "false",
  });
  const copy = () => navigator.clipboard.writeText(written).then(() => toast("The case was copied"), toastError);
  return html`<section><h2>Save as a regression case</h2>
    <p>Mark the hits that this question must find, and add the case to a file.${" "}
      <code>memotherm bench cases cases.toml</code> runs all cases of the file and fails if one does not find them.</p>
    ${expected.length ? html`<pre class="content" tabindex="0">${written}</pre>
      <div class="buttons"><button type="button" class="primary" onClick=${() => download("cases.toml", written, "application/toml")}>Download cases.toml</button>
        <button type="button" onClick=${copy}>Copy</button></div>`
      : html`<p class="empty">No hit is marked as expected yet.</p>`}
  </section>`;
}
