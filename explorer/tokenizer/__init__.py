"""Text to tokens and back: the vocabulary, the split, the merges, and how each token is shown."""
