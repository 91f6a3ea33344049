"""Scripted weeks of work with an agent, held through the real hooks with a clock that moves, and questions about them.

A week is a JSON file in `weeks/`:

- `about` and `language`, and `begins`: the date of day 1.
- `sessions`: `day` and `hour`, the `folder` of the project, and `turns` with `prompt` and `reply`; a turn of which
  nothing is worth keeping has `"filler": true`. A session with `"ended": false` is abandoned without an end event.
- `questions`: a `prompt`, asked in a session of its own, in `folder` at `day` and `hour` (by default the folder of the
  last session, after it). `answer` lists texts of which one must be injected, `relevant` texts that make an injected
  line relevant, besides those of `answer`; `old` has values that must not precede the answer. Prompts without an answer
  say so: `needs_nothing` for small talk and work that needs no memory, `unanswerable` for facts that were never said.
"""
