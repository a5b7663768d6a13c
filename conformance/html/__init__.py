"""Pages for a browser: one file each, nothing loaded from elsewhere, readable without scripts."""
