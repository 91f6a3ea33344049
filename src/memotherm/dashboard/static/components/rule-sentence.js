// A rule of a policy as a sentence with its real values, and its conditions in words.

const UNIT = { idle: "d", untouched: "d", used: "d", in_tier: "d" };
// What the placeholders of a reason are limited by.
const FIELD_OF = { days: ["idle"], untouched: ["untouched"], recent_uses: ["recent_uses", "uses"], relevance: ["query_relevance"] };
const AT_LEAST = new Set(["recent_uses", "relevance"]);
const FALLBACK = { reason: "a session needs room in hot" };

// Return the value that a comparison such as ">= cool_hot_days" names: a number, without its unit.
function valuesIn(comparison, values) {
  return String(comparison).split(",").map((part) => part.replace(/^\s*[<>=!]+\s*/, "").trim()).map((name) => (name in values ? values[name] : name.replace(/d$/, ""))).filter((value) => value !== "");
}

// Return a number of a rule without a fraction that says nothing.
const plain = (value) => (Number.isFinite(Number(value)) ? String(Number(value)) : String(value));

// Return the reason of a rule with the limits of its conditions where a memory's own values would stand.
export function reasonOf(rule, values) {
  return rule.why.replace(/\{([a-z_]+)[^}]*\}/g, (_, name) => {
    if (FALLBACK[name]) return FALLBACK[name];
    const fields = FIELD_OF[name] ?? [name];
    const found = rule.when.flatMap((table) => fields.filter((field) => field in table).flatMap((field) => valuesIn(table[field], values).slice(0, 1)));
    const limits = [...new Set(found.map(plain))];
    if (!limits.length) return "some";
    return `${limits.join(" or ")}${AT_LEAST.has(name) ? " or more" : ""}`;
  });
}

// Return a table of a condition in words, such as `kind is decision and idle >= 60d`.
export function condition(table, values, prefix = "") {
  return Object.entries(table).map(([name, value]) => {
    if (Array.isArray(value)) return `${prefix}${name} is ${value.join(" or ")}`;
    if (value !== null && typeof value === "object") return condition(value, values, `${prefix}${name}.`);
    const text = String(value).replace(/[a-z_]{3,}/g, (word) => (word in values ? `${plain(values[word])}${UNIT[name] ?? ""}` : word));
    return /^[<>=!]/.test(text) ? `${prefix}${name} ${text}` : `${prefix}${name} is ${text}`;
  }).join(" and ");
}
