"""Parts of the Paper page."""
