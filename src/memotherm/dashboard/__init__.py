"""The dashboard: web pages that call the public REST routes, served as static files."""

from memotherm.dashboard.files import ASSETS_PATH, INDEX_PATH, routes

__all__ = ["ASSETS_PATH", "INDEX_PATH", "routes"]
