"""What the sentences of a conversation do: rules, tasks, reports of their ends, corrections."""
