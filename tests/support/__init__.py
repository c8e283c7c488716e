"""Code shared by several tests: streams, takes, the app as a server, its visitors."""
