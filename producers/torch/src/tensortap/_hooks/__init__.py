"""Where the collector gets into PyTorch: each module puts hooks, modes or wraps there, and takes them back."""
