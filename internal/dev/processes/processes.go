// Package processes reads from /proc what processes take, for benchmarks.
package processes

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Memory of a process and of all that it started, in bytes.
type Memory struct {
	Shared float64 // proportional set size: a page of several processes counts once (PSS)
	Single float64 // resident set size: it counts for each (RSS)
}

// Most has the greater of each figure.
func (m Memory) Most(other Memory) Memory {
	return Memory{Shared: max(m.Shared, other.Shared), Single: max(m.Single, other.Single)}
}

// MemoryOf reads the memory of a process and its descendants. One that ends meanwhile counts as nothing.
func MemoryOf(pid int) Memory {
	var m Memory
	for _, id := range Tree(pid) {
		path := filepath.Join("/proc", strconv.Itoa(id), "smaps_rollup")
		m.Shared += float64(kilobytes(line(path, "Pss"))) * 1024
		m.Single += float64(kilobytes(line(path, "Rss"))) * 1024
	}
	return m
}

// Figures are what a process takes by itself, by name: "memory MB", "threads", "descriptors". It has none once it ended.
func Figures(pid int) map[string]float64 {
	status := filepath.Join("/proc", strconv.Itoa(pid), "status")
	resident, threads := kilobytes(line(status, "VmRSS")), number(line(status, "Threads"))
	descriptors, err := os.ReadDir(filepath.Join("/proc", strconv.Itoa(pid), "fd"))
	if resident == 0 || err != nil {
		return nil
	}
	return map[string]float64{"memory MB": float64(resident) / 1024, "threads": threads, "descriptors": float64(len(descriptors))}
}

// Tree is a process and its descendants.
func Tree(pid int) []int {
	all := []int{pid}
	lists, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid)) // the pattern is sound
	for _, list := range lists {
		text, err := os.ReadFile(list) //nolint:gosec // of /proc
		if err != nil {
			continue
		}
		for word := range strings.FieldsSeq(string(text)) {
			if child, err := strconv.Atoi(word); err == nil {
				all = append(all, Tree(child)...)
			}
		}
	}
	return all
}

// Seconds is the processor time that a process has used by itself so far.
func Seconds(pid int) float64 {
	const ticks = 100 // a second, on every Linux that Go runs on
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0
	}
	fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:])) // its name may hold blanks
	if len(fields) < 13 {
		return 0
	}
	user, _ := strconv.ParseFloat(fields[11], 64)   // digits
	system, _ := strconv.ParseFloat(fields[12], 64) // digits
	return (user + system) / ticks
}

// SecondsOf is that of a process and of the descendants that it has now.
func SecondsOf(pid int) float64 {
	var sum float64
	for _, id := range Tree(pid) {
		sum += Seconds(id)
	}
	return sum
}
