"""Small programs that differ in kind, each run with the collector and without."""
