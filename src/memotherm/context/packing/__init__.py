"""Packing memories into a text of at most `budget` tokens.

The functions are pure: candidates, in order of importance, go in; the text, what it contains and what
a larger budget would add come out. The rules:

1. Pinned memories come first. If they exceed the budget, the oldest are shortened first, then left
   out, and nothing else is included.
2. Hot and recalled memories share what is left. `reserve` tokens of it, but at most half, are reserved
   for recalled memories. Tokens that one group does not need go to the other.
3. Each group is filled in its order, each memory in full. The first memory that does not fit in full is
   shortened, or left out, and ends its group.
4. Recalled memories share their space: the first may take a third of it, the second a sixth, each other a
   fifteenth. One that is longer is shortened to the sentences about the query, unless space is left. The
   shares grow with the space. So a larger budget never removes a memory, and the smallest budget at which
   a memory is included can be computed.
5. Memories of low priority are included when everything else is.

Costs are summed line by line. Where the vocabulary does not guarantee that the sum is exact, the tokens
of the final text are counted, and the least important memory is removed until the text fits.

| module | contents |
|---|---|
| `formats` | the four output formats |
| `items` | a candidate, its forms (full, shortened, title) and what each costs |
| `groups` | memories that are included in order, up to the group's own limit |
| `budget` | the limits, and how hot and recalled memories share the budget |
| `packer` | the groups of one context, the final text and its entries |
"""

from __future__ import annotations

from memotherm.context.packing.budget import Limits
from memotherm.context.packing.items import Candidate, Form
from memotherm.context.packing.packer import Packed, pack, reason_for

__all__ = ["Candidate", "Form", "Limits", "Packed", "pack", "reason_for"]
