// Search for memories: those that contain the words come first, then those that are similar in meaning.
import { post } from "./api.js";
import { TIERS } from "./actions.js";

const MOST_SIMILAR = 50;
// A hit is similar if it has this part of the relevance of the best one, and at least so much.
const LEAST_SHARE = 0.5, LEAST = 0.15;

export const containing = (text, filters) => ({ ...filters, contains: text, include_narrower: true });

// Return the memories that are similar to a text and do not contain it, best first. Nothing is logged.
export async function similar(text, { tier, kind, ...filters } = {}) {
  // A priority and a recall have no filter in common.
  const { priority, ...rest } = filters;
  const found = await post("/recall", { query: text, limit: MOST_SIMILAR, track: false, include_narrower: true, tiers: tier ? [tier] : TIERS, ...(kind ? { kinds: [kind] } : {}), ...rest });
  const hits = [...found.pinned, ...found.items].sort((one, other) => other.parts.relevance - one.parts.relevance);
  const least = Math.max(LEAST, LEAST_SHARE * (hits[0]?.parts.relevance ?? 0));
  const words = text.toLowerCase();
  return hits.filter((hit) => hit.parts.relevance >= least && !hit.content.toLowerCase().includes(words) && (!priority || hit.priority === priority));
}

// Return both kinds, at most `limit` that contain the text.
export async function search(text, filters, limit) {
  const [found, near] = await Promise.all([post("/memories:find", { ...containing(text, filters), limit }), similar(text, filters)]);
  return [...found.memories, ...near];
}
