"""Single labelled turns: tasks, their ends, rules and corrections, as `README.md` describes them."""
