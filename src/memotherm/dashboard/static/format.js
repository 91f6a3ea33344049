// Numbers and times in the form and zone of the reader. There is one form of a moment: its day, or its day and time.
const NUMBER = new Intl.NumberFormat();
const COMPACT = new Intl.NumberFormat(undefined, { notation: "compact", maximumFractionDigits: 1 });
// By the number of digits behind the point; making one takes longer than a thousand uses.
const DECIMALS = [0, 1, 2, 3, 4].map((digits) => new Intl.NumberFormat(undefined, { minimumFractionDigits: digits, maximumFractionDigits: digits }));
const PERCENT = new Intl.NumberFormat(undefined, { style: "percent", maximumFractionDigits: 1 });
const DAY = new Intl.DateTimeFormat(undefined, { day: "numeric", month: "short", year: "numeric" });
const CLOCK = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit" });
const RELATIVE = new Intl.RelativeTimeFormat(undefined, { numeric: "auto" });
const UNITS = [["year", 31_557_600], ["month", 2_629_800], ["week", 604_800], ["day", 86_400], ["hour", 3600], ["minute", 60]];

export const number = (value) => NUMBER.format(value);
export const compact = (value) => COMPACT.format(value);
export const percent = (share) => PERCENT.format(share);
export const decimal = (value, digits = 2) => DECIMALS[digits].format(value);
export const day = (moment) => DAY.format(new Date(moment));
// The last day on which something holds, as contexts write it: a moment at midnight ends the day before.
export const lastDay = (moment) => new Date(new Date(moment) - 1).toISOString().slice(0, 10);
export const clock = (moment) => CLOCK.format(new Date(moment));
export const time = (moment) => (moment ? `${day(moment)}, ${clock(moment)}` : "–");

export function relative(iso, now = Date.now()) {
  const seconds = (new Date(iso) - now) / 1000;
  const [unit, size] = UNITS.find(([, each]) => Math.abs(seconds) >= each) || ["second", 1];
  return RELATIVE.format(Math.round(seconds / size), unit);
}

// Return the beginning of a long text; what follows is marked by dots.
export const shortened = (text, most) => (text.length > most ? `${text.slice(0, most)}…` : text);
export const count = (value, one, many = `${one}s`) => `${number(value)} ${value === 1 ? one : many}`;
export const memories = (value) => count(value, "memory", "memories");
export const tokens = (value) => count(value, "token");
export const scopeName = (scope) => Object.entries(scope).map(([name, value]) => `${name}=${value}`).join(" ") || "(no scope)";
