"""The parts of the page From sound to features."""
