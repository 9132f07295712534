package report

import "fmt"

// Size is a number of bytes for people.
func Size(bytes uint64) string {
	const thousand = 1000
	if bytes < thousand {
		return fmt.Sprintf("%d B", bytes)
	}
	v, unit := float64(bytes)/thousand, 0
	for units := "kMGTP"; v >= thousand && unit < len(units)-1; unit++ {
		v /= thousand
	}
	return fmt.Sprintf("%.1f %cB", v, "kMGTP"[unit])
}
