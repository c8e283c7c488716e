"""Parts of the page Inside CUSUM."""
