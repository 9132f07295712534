package program

import "strings"

// SystemAway says whether a command ended because the system was just not there.
func SystemAway(said string) bool {
	for _, reason := range []string{
		"no system is running", "is still starting", "connection refused", "no responders", "deadline exceeded", "timeout",
		"connection closed", "EOF", "no servers available", "jetstream not enabled", "connection reset", "broken pipe", "engine is restarting",
	} {
		if strings.Contains(said, reason) {
			return true
		}
	}
	return false
}
