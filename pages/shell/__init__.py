"""Code around every page: start options, middleware, navigation, address-bound widgets and limits."""
