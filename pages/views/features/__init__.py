"""Parts of the page From sound to features."""
