"""Stands where programs look for msProbe, below `tensortap run --as-msprobe` and nowhere else."""
