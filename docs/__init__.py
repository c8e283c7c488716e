"""Programs that make what the README shows: its pictures and tables, and screenshots to look at."""
