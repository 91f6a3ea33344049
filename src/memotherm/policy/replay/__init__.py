"""Replay: what policies would have done with the past of a store, compared with an oracle."""

from memotherm.policy.replay.report import Cause, Interval, Replay, ReplayRow, replay_timeline
from memotherm.policy.replay.timeline import Asked, Born, Changed, Moved, Ran, Timeline, Used

__all__ = [
    "Asked",
    "Born",
    "Cause",
    "Changed",
    "Interval",
    "Moved",
    "Ran",
    "Replay",
    "ReplayRow",
    "Timeline",
    "Used",
    "replay_timeline",
]
