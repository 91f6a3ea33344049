"""Tier policies as files: read, lint, test and compare them.

from memotherm import policy

house = policy.load("policy.toml")
print(*house.lint(), sep="\\n")
mem = memotherm.open("agent.db", rules=house.rules)
"""

from memotherm.policy.document import Policy, load, loads
from memotherm.rules.findings import Finding

__all__ = ["Finding", "Policy", "load", "loads"]
