"""The specification of tiers, priorities, sessions and retention, line by line."""
