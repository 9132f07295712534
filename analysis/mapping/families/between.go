package families

import (
	"fmt"
	"slices"
	"strings"

	"github.com/tensortap/tensortap/analysis/mapping"
)

// Between is the map of a family between two implementations, the problem's first: a mapping file as a user might write it.
func (f *Family) Between(problem, bench Implementation) (*mapping.Map, error) {
	m, err := mapping.Parse(f.title(problem, bench), []byte(f.Text(problem, bench)))
	if err != nil {
		return nil, fmt.Errorf("the map that ships for %s: %w", f.title(problem, bench), err)
	}
	return m, nil
}

func (f *Family) title(problem, bench Implementation) string {
	return fmt.Sprintf("%s: %s ↔ %s", f.Name, problem, bench)
}

// Text is that file.
func (f *Family) Text(problem, bench Implementation) string {
	var page strings.Builder
	fmt.Fprintf(&page, "name: '%s'\nimplementations: true\nflatten: true\n", f.title(problem, bench))
	section(&page, "modules", f.Modules, problem, bench)
	section(&page, "values", f.Values, problem, bench)
	section(&page, "streams", f.Streams, problem, bench)
	if apart := f.apart(problem, bench); apart != "" {
		page.WriteString("apart:\n" + apart)
	}
	page.WriteString(oneSided("casts", f.Casts, problem, bench))
	page.WriteString(oneSided("sums", f.Sums, problem, bench))
	return page.String()
}

// section writes the lines in which the two have something of other names.
func section(page *strings.Builder, name string, lines []Line, problem, bench Implementation) {
	written := map[string]bool{}
	for _, l := range lines {
		p, b := l.of(problem), l.of(bench)
		if p == "" || b == "" || p == b || written[p] {
			continue
		}
		if len(written) == 0 {
			page.WriteString(name + ":\n")
		}
		written[p] = true
		fmt.Fprintf(page, "  '%s': '%s'\n", p, b)
	}
}

// oneSided is a section with lists of values for problem and bench; empty where neither has one.
func oneSided(name string, of map[Implementation][]string, problem, bench Implementation) string {
	if len(of[problem])+len(of[bench]) == 0 {
		return ""
	}
	return name + ":\n" + sides("  ", of[problem], of[bench])
}

func (f *Family) apart(problem, bench Implementation) string {
	var page strings.Builder
	reasons := map[string][2][]string{}
	var order []string
	for _, a := range f.Apart {
		p, b := a.Lines[problem], a.Lines[bench]
		if len(p)+len(b) == 0 {
			continue
		}
		known, seen := reasons[a.Reason]
		if !seen {
			order = append(order, a.Reason)
		}
		reasons[a.Reason] = [2][]string{append(known[0], p...), append(known[1], b...)}
	}
	for _, reason := range order {
		fmt.Fprintf(&page, "  '%s':\n", reason)
		page.WriteString(sides("    ", reasons[reason][0], reasons[reason][1]))
	}
	return page.String()
}

// sides are the lists of values of problem and bench, so far in.
func sides(in string, problem, bench []string) string {
	var page strings.Builder
	for i, lines := range [][]string{problem, bench} {
		if len(lines) > 0 {
			fmt.Fprintf(&page, "%s%s: ['%s']\n", in, []string{"problem", "bench"}[i], strings.Join(lines, "', '"))
		}
	}
	return page.String()
}

// Written is the map of the family of that name between two implementations, as a file.
func Written(family string, problem, bench Implementation) (string, error) {
	all, err := All()
	if err != nil {
		return "", err
	}
	for _, one := range []Implementation{problem, bench} {
		if !slices.Contains(Implementations(), one) {
			return "", fmt.Errorf("no map has an implementation %q: want two of %v", one, Implementations())
		}
	}
	if problem == bench {
		return "", fmt.Errorf("%s beside itself needs no map", problem)
	}
	var names []string
	for i := range all {
		if names = append(names, all[i].Name); all[i].Name == family {
			return all[i].Text(problem, bench), nil
		}
	}
	return "", fmt.Errorf("no map ships for family %q: want one of %s", family, strings.Join(names, ", "))
}
