"""The lab of policies: replay of the past with the rule engine."""
