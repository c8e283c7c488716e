"""Pages in one HTML file that need no server: the C core as WebAssembly, and JavaScript around it."""
