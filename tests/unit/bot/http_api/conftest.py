"""What building the API costs in tests."""

from tests.shared_routes import share_routes

share_routes()
