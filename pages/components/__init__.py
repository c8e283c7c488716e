"""Streamlit components: JavaScript, CSS and a Python wrapper each."""
