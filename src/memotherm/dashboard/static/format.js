// Texts for people: numbers and times in the form and zone of the reader, names of scopes and sessions.
import { formatScope } from "./server.js";

// The words for events and for reasons by their codes, which the server writes into the page.
export const { DONE, GROUPS, PARTS } = JSON.parse(document.getElementById("words").textContent);

// Words such as "yesterday" are those of the page.
const NUMBER = new Intl.NumberFormat();
const COMPACT = new Intl.NumberFormat(undefined, { notation: "compact", maximumFractionDigits: 1 });
// By the number of digits behind the point; making one takes longer than a thousand uses.
const DECIMALS = [0, 1, 2, 3, 4].map((digits) => new Intl.NumberFormat(undefined, { minimumFractionDigits: digits, maximumFractionDigits: digits }));
const PERCENT = new Intl.NumberFormat(undefined, { style: "percent", maximumFractionDigits: 1 });
const DAY = new Intl.DateTimeFormat(undefined, { day: "numeric", month: "short", year: "numeric" });
const CLOCK = new Intl.DateTimeFormat(undefined, { timeStyle: "short" });
const RELATIVE = new Intl.RelativeTimeFormat("en", { numeric: "auto" });
const WEEKDAY = new Intl.DateTimeFormat("en", { weekday: "long" });
const WEEK = 7, DAY_MILLISECONDS = 86_400_000;

const DAY_SECONDS = 86_400;
// How a moment is written below a chart, by the fewest seconds between two of them.
const TICKS = [[28 * DAY_SECONDS, { month: "short", year: "numeric" }], [DAY_SECONDS, { day: "numeric", month: "short" }], [0, { timeStyle: "short" }]]
  .map(([least, form]) => [least, new Intl.DateTimeFormat(undefined, form)]);

export const number = (value) => NUMBER.format(value);
export const compact = (value) => COMPACT.format(value);
export const percent = (share) => PERCENT.format(share);
export const decimal = (value, digits = 2) => DECIMALS[digits].format(value);
export const day = (moment) => DAY.format(new Date(moment));
// The last day on which something holds, as contexts write it: a moment at midnight ends the day before.
export const lastDay = (moment) => new Date(new Date(moment) - 1).toISOString().slice(0, 10);
export const clock = (moment) => CLOCK.format(new Date(moment));
export const tick = (moment, seconds) => TICKS.find(([least]) => seconds >= least)[1].format(new Date(moment));
export const time = (moment) => (moment ? `${day(moment)}, ${clock(moment)}` : "–");

// Return by how many days a moment is after today, in the reader's zone.
const daysFromNow = (moment) => Math.round((new Date(moment).setHours(0, 0, 0, 0) - new Date().setHours(0, 0, 0, 0)) / DAY_MILLISECONDS);

// Return a moment within a week as how long it is from now, and another one as its day.
export function when(moment) {
  const days = daysFromNow(moment);
  if (Math.abs(days) >= WEEK) return day(moment);
  if (days) return RELATIVE.format(days, "day");
  const minutes = Math.trunc((new Date(moment) - Date.now()) / 60_000);
  if (!minutes) return "now";
  return Math.abs(minutes) < 60 ? RELATIVE.format(minutes, "minute") : RELATIVE.format(Math.trunc(minutes / 60), "hour");
}

// Return the name of a day: that of the week if it was one of the last seven.
export function dayName(moment, { today = "Today", yesterday = "Yesterday" } = {}) {
  const days = daysFromNow(moment);
  if (days > 0 || days <= -WEEK) return day(moment);
  return [today, yesterday][-days] ?? WEEKDAY.format(new Date(moment));
}
const weekday = (moment) => dayName(moment, { today: WEEKDAY.format(new Date(moment)), yesterday: WEEKDAY.format(new Date(moment)) });

// Return the first line of a text, as much of it as fits; what follows is marked by dots.
export function titleOf(text, most = 140) {
  const [line] = text.trimStart().split("\n", 1);
  const whole = line.length <= most && line.trimEnd() === text.trim();
  return whole ? line.trimEnd() : `${line.slice(0, most).trimEnd()}…`;
}

// Return the beginning of a long text; what follows is marked by dots.
export const shortened = (text, most) => (text.length > most ? `${text.slice(0, most)}…` : text);
export const count = (value, one, many = `${one}s`) => `${number(value)} ${value === 1 ? one : many}`;
export const memories = (value) => count(value, "memory", "memories");
export const tokens = (value) => count(value, "token");
// The fields of a scope as the command line takes them.
export const scopeFields = (scope) => Object.entries(scope).map(([name, value]) => `${name}=${value}`).join(" ") || "no field is set";

// A scope by its names, such as "payments-api · ana"; a field that is not told by its place is named.
//   session: what to call its session; default: its id, or the beginning of a long one.
export function scopeName({ session: id, ...scope }, session = id && `session ${id.length > 12 ? id.slice(0, 8) : id}`) {
  const plain = scope.project === undefined ? [] : ["project", "user"];
  const names = Object.entries(scope).map(([name, value]) => (plain.includes(name) ? value : `${name} ${value}`));
  return [...names, ...(session ? [session] : [])].join(" · ") || "everywhere";
}

// Return the names of the sessions of receipts, newest first, by their scopes: their day, and their number on it in the project,
// as people say it: the third one of Tuesday.
export function sessionNames(receipts) {
  const firsts = new Map(receipts.filter(({ scope }) => scope.session).map(({ scope, at }) => [formatScope(scope), { scope, at }]));
  const numbers = new Map();
  return new Map([...firsts].sort(([, one], [, other]) => (one.at < other.at ? -1 : 1)).map(([key, { scope: { session, ...scope }, at }]) => {
    const place = `${formatScope(scope)} ${weekday(at)}`;
    numbers.set(place, (numbers.get(place) ?? 0) + 1);
    return [key, `session ${numbers.get(place)} of ${weekday(at)}`];
  }));
}
