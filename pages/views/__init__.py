"""Parts of the pages, one folder per page."""
