"""The parts of the Microphone page: the session and its tabs, sources of sound, teaching, answers, drifts, keeping."""
