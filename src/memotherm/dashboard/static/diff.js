// The difference of two texts by words, or by lines if they are long.
const MOST_PARTS = 1500;

function parts(text, pattern) { return text.match(pattern) || []; }

// Return [{kind: "same" | "plus" | "minus", text}] that leads from one text to another.
export function difference(before, after) {
  let one = parts(before, /\s+|[^\s]+/g), other = parts(after, /\s+|[^\s]+/g);
  if (one.length > MOST_PARTS || other.length > MOST_PARTS) [one, other] = [parts(before, /[^\n]*\n|[^\n]+/g), parts(after, /[^\n]*\n|[^\n]+/g)];
  if (one.length > MOST_PARTS || other.length > MOST_PARTS) return [{ kind: "minus", text: before }, { kind: "plus", text: after }];
  const lengths = Array.from({ length: one.length + 1 }, () => new Uint16Array(other.length + 1));
  for (let i = one.length - 1; i >= 0; i--) {
    for (let j = other.length - 1; j >= 0; j--) {
      lengths[i][j] = one[i] === other[j] ? lengths[i + 1][j + 1] + 1 : Math.max(lengths[i + 1][j], lengths[i][j + 1]);
    }
  }
  const found = [];
  const add = (kind, text) => {
    if (found.at(-1)?.kind === kind) found.at(-1).text += text;
    else found.push({ kind, text });
  };
  let i = 0, j = 0;
  while (i < one.length || j < other.length) {
    if (i < one.length && j < other.length && one[i] === other[j]) { add("same", one[i]); i++; j++; }
    else if (j >= other.length || (i < one.length && lengths[i + 1][j] >= lengths[i][j + 1])) add("minus", one[i++]);
    else add("plus", other[j++]);
  }
  return found;
}
