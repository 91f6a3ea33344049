// The pages in the order of the navigation. A page's module is loaded when it is first shown.
//   path: the first part of the address; the first page has none.
//   load: returns a promise of the component, which gets {route: {path, params}}.
const PAGES = [
  { path: "", title: "Now", load: async () => (await import("./now.js")).Now },
  { path: "memories", title: "Memories", load: async () => (await import("./memories.js")).Memories },
  { path: "playground", title: "Playground", load: async () => (await import("./playground.js")).Playground },
  { path: "prompts", title: "Prompts", load: async () => (await import("./prompts.js")).Prompts },
  { path: "policies", title: "Policies", load: async () => (await import("./policies.js")).Policies },
  { path: "health", title: "Health", load: async () => (await import("./health.js")).Health },
];
// Pages that others link to.
const LINKED = [
  { path: "memory", title: "A memory", load: async () => (await import("./memory.js")).MemoryPage },
];
const UNKNOWN = { path: "unknown", title: "No such page", load: async () => (await import("./unknown.js")).Unknown };

export const NAVIGATION = PAGES;
export function pageOf(path) {
  return [...PAGES, ...LINKED].find((page) => page.path === (path[0] || "")) || UNKNOWN;
}
