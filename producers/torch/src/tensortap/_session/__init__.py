"""One tap from its arming to its end: steps, what is asked of them meanwhile, and what is said of the run."""
