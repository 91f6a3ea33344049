import { html } from "../html.js";
import { hrefOf } from "../route.js";

export const Unknown = () => html`<p>This address belongs to no page: <a href=${hrefOf([""])}>go to the overview</a>.</p>`;
