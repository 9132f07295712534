package compare

import (
	"bytes"
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/tensortap/tensortap/analysis/result"
	"github.com/tensortap/tensortap/analysis/rows"
)

// Differences are the properties that two runs differ in: those first that change numbers, then by name.
func Differences(problem, bench *rows.Run) []result.RunDifference {
	p, b := properties(problem), properties(bench)
	both := map[string]bool{}
	for _, side := range []map[string]string{p, b} {
		for name := range side {
			both[name] = true
		}
	}
	var found []result.RunDifference
	for _, name := range slices.Sorted(maps.Keys(both)) {
		if p[name] != b[name] {
			found = append(found, result.RunDifference{Property: name, Problem: p[name], Bench: b[name], Effect: effectOf(name)})
		}
	}
	slices.SortStableFunc(found, func(x, y result.RunDifference) int { return cmp.Compare(x.Effect, y.Effect) })
	return found
}

// properties is all that is said about a run as a whole.
func properties(run *rows.Run) map[string]string {
	d := &run.Described
	said := map[string]string{
		"model": d.Model, "framework": d.Framework, "framework_version": d.FrameworkVersion, "engine": d.Engine, "engine_version": d.EngineVersion,
		"world_size": optional(d.WorldSize), "dtype": d.Dtype, "seed": optional(d.Seed), "source": d.Source, "level": d.Level, "task": d.Task,
		"host": host(run), "commit": d.Commit, "event_time_source": d.EventTimeSource, "tensor dtype": run.MainDtype,
	}
	said["ranks"], said["steps"] = extent(run)
	for name, value := range d.Labels {
		said["label "+name] = value
	}
	if keys, isObject := configKeys(d.Config); isObject {
		maps.Copy(said, keys)
	} else {
		said["config"] = d.Config
	}
	maps.DeleteFunc(said, func(_, value string) bool { return value == "" })
	return said
}

func optional[T uint32 | int64](v *T) string {
	if v == nil {
		return ""
	}
	return strconv.FormatInt(int64(*v), 10)
}

// host is that of rank 0 where it said so, else those of all ranks.
func host(run *rows.Run) string {
	if run.Described.Host != "" {
		return run.Described.Host
	}
	var names []string
	for i := range run.Ranks {
		if name := run.Ranks[i].Host; name != "" {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return strings.Join(slices.Compact(names), ", ")
}

// extent is how many ranks and steps the run has that ended a step.
func extent(run *rows.Run) (ranks, steps string) {
	seenRanks, seenSteps := map[uint32]bool{}, map[uint32]bool{}
	for i := range run.Steps {
		seenRanks[run.Steps[i].Rank], seenSteps[run.Steps[i].Step] = true, true
	}
	return strconv.Itoa(len(seenRanks)), strconv.Itoa(len(seenSteps))
}

// configKeys is a configuration in JSON key by key, so that a difference names the key.
func configKeys(config string) (map[string]string, bool) {
	var values map[string]json.RawMessage
	if json.Unmarshal([]byte(config), &values) != nil || values == nil {
		return nil, false
	}
	said := map[string]string{}
	for key, value := range values {
		var text bytes.Buffer
		if json.Compact(&text, value) == nil {
			said["config "+key] = text.String()
		}
	}
	return said, true
}
