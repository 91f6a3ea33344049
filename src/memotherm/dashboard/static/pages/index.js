// All pages.
import { Overview } from "./overview.js";
import { Memories } from "./memories.js";
import { Activity } from "./activity.js";
import { Timeline } from "./timeline.js";
import { Conflicts } from "./conflicts.js";
import { Review } from "./review.js";
import { Prompts } from "./prompts.js";
import { Playground } from "./playground.js";
import { Costs } from "./costs.js";
import { Rules } from "./rules.js";
import { Health } from "./health.js";
import { MemoryPage } from "./memory.js";
import { Unknown } from "./unknown.js";

// The pages in the order of the navigation, in groups.
//   path: the first part of the address; the first page has none.
//   icon: the path of a drawing of 20 by 20.
//   content: the component, which gets {route: {path, params}}.
//   inMenu: on a phone, the page is in the menu, not on the bar.
//   within: the page of the navigation that a linked page belongs to.
export const NAVIGATION = [
  { title: "", pages: [
    { path: "", title: "Overview", icon: "M3 9.5 10 4l7 5.5V16a1 1 0 0 1-1 1H4a1 1 0 0 1-1-1zM8 17v-5h4v5", content: Overview },
    { path: "memories", title: "Memories", icon: "M4 5h12M4 10h12M4 15h8", content: Memories },
    { path: "activity", title: "Activity", icon: "M10 5v5l3 2M17 10a7 7 0 1 1-7-7", content: Activity },
    { path: "timeline", title: "Timeline", icon: "M5 4v12M5 6h10M5 10h7M5 14h9", inMenu: true, content: Timeline },
    { path: "conflicts", title: "Conflicts", icon: "M3 7h11l-3-3M17 13H6l3 3", inMenu: true, content: Conflicts },
    { path: "review", title: "Review", icon: "M3 11h4l1 2h4l1-2h4M3 11l2-7h10l2 7v5H3z", inMenu: true, content: Review },
  ] },
  { title: "In prompts", pages: [
    { path: "prompts", title: "Prompts", icon: "M4 4h12v9H9l-4 3v-3H4z", content: Prompts },
    { path: "playground", title: "Playground", icon: "M8.5 14a5.5 5.5 0 1 0 0-11 5.5 5.5 0 0 0 0 11zM17 17l-4-4", content: Playground },
    { path: "costs", title: "Costs", icon: "M4 16V9M10 16V4M16 16v-5", content: Costs },
  ] },
  { title: "System", pages: [
    { path: "rules", title: "Rules", icon: "M4 6h8M16 6h0M4 14h2M10 14h6M14 4v4M8 12v4", content: Rules },
    { path: "health", title: "Health", icon: "M3 10h4l2-5 3 10 2-5h3", content: Health },
  ] },
];
const LINKED = [{ path: "memory", title: "A memory", within: "memories", content: MemoryPage }];
const UNKNOWN = { path: "unknown", title: "No such page", content: Unknown };

export function pageOf(path) {
  return [...NAVIGATION.flatMap((group) => group.pages), ...LINKED].find((page) => page.path === (path[0] || "")) || UNKNOWN;
}
