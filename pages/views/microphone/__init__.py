"""The Microphone page.

Its modules, lowest layer first; each imports only modules before it:

- `session_store` and `expiry`: the sessions of the server, in memory and on disk;
- `session_handle`: one tab's access to its session, with lock and save;
- `step_state` and `messages`: what the three steps show in one tab;
- `tab_state`: all of that for one tab; `tab_address`: which session the address names;
- `actions`, `sample_clips`: what the buttons do, without drawing;
- `thumbnails`, `steps`, `sources`, `settings`, `save_load`: the widgets; `page`: the layout.
"""
