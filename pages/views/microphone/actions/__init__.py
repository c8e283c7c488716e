"""Actions of the Microphone page's buttons: one module per step, and one for sounds.

Actions draw nothing, so that no change is interrupted; a ready-made clip shows a spinner before it is received.
"""
