"""Widgets of the three steps of the Microphone page: teach, say, change."""
