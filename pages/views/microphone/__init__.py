"""The parts of the Microphone page: the session and its tabs, sources of sound, steps, settings, save and load."""
