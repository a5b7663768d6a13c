"""Where programs come from: chosen, generated, made short."""
