// The pages in the order of the navigation, in groups. A page's module is loaded when it is first shown.
//   path: the first part of the address; the first page has none.
//   icon: the path of a drawing of 20 by 20.
//   load: returns a promise of the component, which gets {route: {path, params}}.
//   inMenu: on a phone, the page is in the menu, not on the bar.
//   within: the page of the navigation that a linked page belongs to.
export const NAVIGATION = [
  { title: "", pages: [
    { path: "", title: "Overview", icon: "M3 9.5 10 4l7 5.5V16a1 1 0 0 1-1 1H4a1 1 0 0 1-1-1zM8 17v-5h4v5", load: async () => (await import("./overview.js")).Overview },
    { path: "memories", title: "Memories", icon: "M4 5h12M4 10h12M4 15h8", load: async () => (await import("./memories.js")).Memories },
    { path: "activity", title: "Activity", icon: "M10 5v5l3 2M17 10a7 7 0 1 1-7-7", load: async () => (await import("./activity.js")).Activity },
    { path: "timeline", title: "Timeline", icon: "M5 4v12M5 6h10M5 10h7M5 14h9", inMenu: true, load: async () => (await import("./timeline.js")).Timeline },
    { path: "conflicts", title: "Conflicts", icon: "M3 7h11l-3-3M17 13H6l3 3", inMenu: true, load: async () => (await import("./conflicts.js")).Conflicts },
    { path: "review", title: "Review", icon: "M3 11h4l1 2h4l1-2h4M3 11l2-7h10l2 7v5H3z", inMenu: true, load: async () => (await import("./review.js")).Review },
  ] },
  { title: "In prompts", pages: [
    { path: "prompts", title: "Prompts", icon: "M4 4h12v9H9l-4 3v-3H4z", load: async () => (await import("./prompts.js")).Prompts },
    { path: "playground", title: "Playground", icon: "M8.5 14a5.5 5.5 0 1 0 0-11 5.5 5.5 0 0 0 0 11zM17 17l-4-4", load: async () => (await import("./playground.js")).Playground },
    { path: "costs", title: "Costs", icon: "M4 16V9M10 16V4M16 16v-5", load: async () => (await import("./costs.js")).Costs },
  ] },
  { title: "System", pages: [
    { path: "rules", title: "Rules", icon: "M4 6h8M16 6h0M4 14h2M10 14h6M14 4v4M8 12v4", load: async () => (await import("./rules.js")).Rules },
    { path: "health", title: "Health", icon: "M3 10h4l2-5 3 10 2-5h3", load: async () => (await import("./health.js")).Health },
  ] },
];
const LINKED = [{ path: "memory", title: "A memory", within: "memories", load: async () => (await import("./memory.js")).MemoryPage }];
const UNKNOWN = { path: "unknown", title: "No such page", load: async () => (await import("./unknown.js")).Unknown };

export function pageOf(path) {
  return [...NAVIGATION.flatMap((group) => group.pages), ...LINKED].find((page) => page.path === (path[0] || "")) || UNKNOWN;
}
