"""Programs that make the README's pictures and tables, and screenshots of all pages."""
