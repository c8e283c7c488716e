"""What surrounds every page: start options, and what the server does before a page runs."""
