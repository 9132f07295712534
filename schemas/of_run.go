package schemas

import "slices"

// OfRun says whether messages of that kind go with the run whose id is in their identity. Baselines have the hash of their
// own name there, and dead letters and lines of audit none: neither is a run's. What people were told of a run stays, and so that it
// is over.
func OfRun(kind string) bool {
	return !slices.Contains([]string{Baseline().Kind(), DeadLetter().Kind(), Audit().Kind(), Alert().Kind()}, kind)
}
