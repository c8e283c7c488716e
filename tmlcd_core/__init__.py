"""TML-CD: tiny machine learning for concept drift."""
