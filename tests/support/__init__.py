"""What several tests share: streams, takes, the app as a server, its visitors."""
