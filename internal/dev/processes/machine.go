package processes

import (
	"bufio"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
)

// Machine says what figures were measured on.
func Machine() string {
	return fmt.Sprintf("%s, %d cores, %.0f GB of memory, Linux %s, load %s at the start, %s",
		line("/proc/cpuinfo", "model name"), runtime.NumCPU(), float64(kilobytes(line("/proc/meminfo", "MemTotal")))/1e6,
		firstWord("/proc/sys/kernel/osrelease"), firstWord("/proc/loadavg"), runtime.Version())
}

// line is what stands behind a name and a colon in a file of /proc.
func line(path, name string) string {
	file, err := os.Open(path) //nolint:gosec // of /proc
	if err != nil {
		return "unknown"
	}
	defer file.Close() //nolint:errcheck // only read
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		if key, value, ok := strings.Cut(lines.Text(), ":"); ok && strings.TrimSpace(key) == name {
			return strings.TrimSpace(value)
		}
	}
	return "unknown"
}

// kilobytes reads "123 kB".
func kilobytes(text string) int64 {
	var n int64
	_, _ = fmt.Sscanf(text, "%d kB", &n) // 0 when it is none
	return n
}

// number is 0 for what is none.
func number(text string) float64 {
	n, _ := strconv.ParseFloat(text, 64)
	return n
}

func firstWord(path string) string {
	text, err := os.ReadFile(path) //nolint:gosec // of /proc
	if err != nil {
		return "unknown"
	}
	word, _, _ := strings.Cut(strings.TrimSpace(string(text)), " ")
	return word
}
