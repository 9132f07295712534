package logline

import (
	"strconv"
	"strings"
)

const (
	dumpedSuffix   = "(most recent call first):"
	fatalPrefix    = "Fatal Python error: "
	modulesPrefix  = "Extension modules: " // faulthandler says them last
	sglangSpied    = "Pyspy dump for PID "
	spiedProcess   = "Process "
	spiedPython    = "Python v"
	spiedThread    = "Thread "
	mostDigitsOfID = 10
)

// isDump says whether faulthandler begins to tell where threads are.
func isDump(m string) bool {
	return strings.HasPrefix(m, fatalPrefix) || strings.HasSuffix(m, dumpedSuffix)
}

// isSpied says whether what py-spy says of a process begins: as SGLang's watchdog logs it, or by itself, of which the
// first line, "Process 12: …", might be anything's.
func isSpied(m string) bool {
	if strings.HasPrefix(m, sglangSpied) {
		return true
	}
	version, found := strings.CutPrefix(m, spiedPython)
	return found && version != "" && isDigit(version[0]) && strings.Contains(version, " (")
}

// spiedPID is the process of a line "Pyspy dump for PID 12 (py-spy dump …):" or "Process 12: …", Unknown if it is neither.
func spiedPID(m string) int64 {
	rest, found := strings.CutPrefix(m, sglangSpied)
	if !found {
		rest, found = strings.CutPrefix(m, spiedProcess)
	}
	end := strings.IndexAny(rest, " :")
	if !found || end < 1 || end > mostDigitsOfID {
		return Unknown
	}
	pid, err := strconv.ParseInt(rest[:end], 10, 64)
	if err != nil || pid < 0 {
		return Unknown
	}
	return pid
}

// takesSpied says whether the line is of what py-spy says of one process.
func takesSpied(m string) bool {
	if m == "" || m[0] == ' ' || m[0] == '\t' {
		return true
	}
	return strings.HasPrefix(m, spiedProcess) || strings.HasPrefix(m, spiedPython) || strings.HasPrefix(m, spiedThread)
}
