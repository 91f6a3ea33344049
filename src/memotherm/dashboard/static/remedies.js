// What to do about what is degraded.
const REMEDIES = [
  [/embedder is 'none'/, "Searches match words only. Set `embedder` with `memotherm config set embedder local`, then run `memotherm store reembed`."],
  [/vectors?\b.*(missing|wait|no vector)|without (a )?vector/i, "Maintenance makes the missing vectors; `memotherm store reembed` makes them now."],
  [/polic/i, "`memotherm policy show` prints the policy in force, and `memotherm policy lint` checks it."],
  [/embedder/i, "`memotherm doctor` tells which embedder is used and how to correct it."],
];

export const remedyOf = (notice) => (REMEDIES.find(([pattern]) => pattern.test(notice)) || [null, "`memotherm doctor` checks the installation and prints how to correct problems."])[1];
