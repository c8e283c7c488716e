"""The parts of the pages, in a folder named like the page."""
