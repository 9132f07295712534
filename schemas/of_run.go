package schemas

// OfRun says whether messages of that kind go with the run whose id is in their identity. Baselines have the hash of their
// own name there, and dead letters none: neither is a run's.
func OfRun(kind string) bool { return kind != Baseline().Kind() && kind != DeadLetter().Kind() }
