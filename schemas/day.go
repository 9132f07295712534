package schemas

const dayNs = 24 * 3600 * 1_000_000_000

// Day is the UTC day of a time, counted from 1970.
func Day(ns int64) int64 {
	if ns < 0 {
		return -1 - (-1-ns)/dayNs
	}
	return ns / dayNs
}
