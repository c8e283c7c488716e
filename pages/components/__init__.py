"""Streamlit components, each with JavaScript, CSS and a Python wrapper."""
