"""Tiers: which memories are hot, warm or cold, and why.

rules            pure: selections, conditions, rules, and the decisions of one run
policy           policy files; policy_checks lints and tests them, on examples in a store in memory
engine           runs the rules on a store and applies their moves
active_policy    the rules and limits that apply now
adoption         changes them, and can be rolled back with its moves
policies         the facade: mem.policies
replay           policies on the past: replay_run takes the steps of a timeline
working_memory   the hot tokens of sessions
scheduler        maintenance in the background
tier_history     tier counts over time, and metrics
"""
