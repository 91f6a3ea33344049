// Names of sessions as people say them: the third one of Tuesday.
import { formatScope } from "./api.js";
import { weekday } from "./format.js";

// Return the names of the sessions of receipts, newest first, by their scopes: their day, and their number on it in the project.
export function sessionNames(receipts) {
  const firsts = new Map(receipts.filter(({ scope }) => scope.session).map(({ scope, at }) => [formatScope(scope), { scope, at }]));
  const numbers = new Map();
  return new Map([...firsts].sort(([, one], [, other]) => (one.at < other.at ? -1 : 1)).map(([key, { scope: { session, ...scope }, at }]) => {
    const place = `${formatScope(scope)} ${weekday(at)}`;
    numbers.set(place, (numbers.get(place) ?? 0) + 1);
    return [key, `session ${numbers.get(place)} of ${weekday(at)}`];
  }));
}
