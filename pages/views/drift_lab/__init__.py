"""The parts of the Drift lab: what is chosen, the run it makes, the sample under the cursor, many runs, exports."""
