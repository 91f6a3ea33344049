"""Scripted weeks of work with an agent, held through the real hooks with a clock that moves, and questions about them.

A week is a JSON file in `weeks/`, or in `unseen/` if nobody is to read it while rules are tuned:

- `about` and `language`, and `begins`: the date of day 1.
- `sessions`: `day` and `hour`, the `folder` of the project, and `turns` with `prompt` and `reply`; a turn of which
  nothing is worth keeping has `"filler": true`. A session with `"ended": false` is abandoned without an end event.
  A turn takes five minutes; sessions whose times overlap take turns.
- `questions`: a `prompt`, asked in a session of its own, in `folder` at `day` and `hour` (by default the folder of the
  last session, after it). `answer` lists texts of which one must be injected, `relevant` texts that make an injected
  line relevant, besides those of `answer`; `old` has values that must not precede the answer. Prompts without an answer
  say so: `needs_nothing` for small talk and work that needs no memory, `unanswerable` for facts that were never said.

Weeks with corrections, rules and tasks also have labels:

- A turn `corrects` a topic; it is a `trap` for a topic if it only sounds like a correction (a guess, what others do, a
  value beside another one); it gives a `rule` or a `task`, `ends` a rule, or says that a task is `done`.
- A question has the `topic` that it asks for, with the superseded values in `old` and those of traps in `wrong`;
  `"terminal": true` if it is asked while the session that was told is running; and `asks` for the kind of question:
  `profile`, `rules`, `tasks` or `time`.
- The week has `rules` and `tasks` by name: `has` lists texts that show them, `"everywhere": true` is for a rule of all
  projects, `due` for a task with a deadline that may pass; and `profile`, texts of facts about the person.
"""
