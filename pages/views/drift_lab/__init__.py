"""Parts of the Drift lab: settings, run, sample at the cursor, repeated runs and exports."""
