// One memory on a page of its own, which other pages link to.
import { html } from "../html.js";
import { MemoryDetail } from "../components/memory-detail.js";
import { hrefOf, navigate } from "../route.js";

export const MemoryPage = ({ route }) => html`<p><a href=${hrefOf(["memories"])}>All memories</a></p>
  <${MemoryDetail} id=${route.path[1]} onGone=${() => navigate(["memories"])} />`;
