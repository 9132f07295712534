package jobs

import "slices"

// Stored says whether any of the jobs names a stored run.
func Stored(jobs []Job) bool {
	return slices.ContainsFunc(jobs, func(j Job) bool {
		return !IsFolder(j.Problem) || slices.ContainsFunc(j.Benches, func(bench string) bool { return !IsFolder(bench) })
	})
}
