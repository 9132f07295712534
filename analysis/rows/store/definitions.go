package store

import (
	"cmp"
	"context"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/tensortap/tensortap/analysis/rows"
	"github.com/tensortap/tensortap/consumers/clickhouse"
	"github.com/tensortap/tensortap/schemas"
)

// idsAtOnce bounds how many ids stand in one query, whose text the database limits to 256 KiB.
const idsAtOnce = 8_000

// define adds the definitions of a run to the known ones. Those of sites outside of its programs are asked for here,
// and those of layouts: their ids are known by now.
func (s *Source) define(ctx context.Context, a *asked) (*rows.Definitions, error) {
	sites, layouts := idsOf(a.census)
	for i := range a.sites {
		delete(sites, a.sites[i].SiteID)
	}
	return s.learnIDs(ctx, a, sites, layouts)
}

// learnIDs adds what was answered to the known definitions, and sites and layouts of those ids with the ops of sites.
func (s *Source) learnIDs(ctx context.Context, a *asked, sites, layouts map[uint64]bool) (*rows.Definitions, error) {
	have := s.Definitions()
	removeKnown(sites, have.Sites)
	removeKnown(layouts, have.Layouts)
	foundLayouts, foundSites := []schemas.LayoutRow{}, []schemas.SiteRow{}
	group, asking := errgroup.WithContext(ctx)
	group.Go(func() (err error) {
		foundLayouts, err = byID[schemas.LayoutRow](asking, s, "layout_id", slices.Collect(maps.Keys(layouts)))
		return err
	})
	group.Go(func() (err error) {
		foundSites, err = byID[schemas.SiteRow](asking, s, "site_id", slices.Collect(maps.Keys(sites)))
		return err
	})
	if err := group.Wait(); err != nil {
		return nil, err
	}
	a.sites = append(a.sites, foundSites...)
	ops, err := byID[schemas.OpRow](ctx, s, "op_id", opsToAsk(have, a))
	if err != nil {
		return nil, err
	}
	a.ops = append(a.ops, ops...)
	return s.learn(a, foundLayouts), nil
}

func idsOf(census []counted) (sites, layouts map[uint64]bool) {
	sites, layouts = make(map[uint64]bool, len(census)), map[uint64]bool{}
	for _, c := range census {
		sites[c.site], layouts[c.layout] = true, true
	}
	return sites, layouts
}

func removeKnown[V any](ids map[uint64]bool, known map[uint64]V) {
	maps.DeleteFunc(ids, func(id uint64, _ bool) bool {
		_, found := known[id]
		return found
	})
}

// opsToAsk are the ops of sites outside of programs.
func opsToAsk(have *rows.Definitions, a *asked) []uint64 {
	wanted := map[uint64]bool{}
	for i := range a.sites {
		wanted[a.sites[i].OpID] = true
	}
	for i := range a.ops {
		delete(wanted, a.ops[i].OpID)
	}
	removeKnown(wanted, have.Ops)
	return slices.Collect(maps.Keys(wanted))
}

// byID is the rows of a table whose column holds one of the ids.
func byID[R any, P schemas.Row[R]](ctx context.Context, s *Source, column string, ids []uint64) ([]R, error) {
	var found []R
	for some := range slices.Chunk(ids, idsAtOnce) {
		more, err := clickhouse.Rows[R, P](ctx, s.database, column+" IN ("+list(some)+")")
		if err != nil {
			return nil, err
		}
		found = append(found, more...)
	}
	return found, nil
}

func list[N uint32 | uint64](numbers []N) string {
	var text strings.Builder
	for i, n := range numbers {
		if i > 0 {
			text.WriteByte(',')
		}
		text.WriteString(strconv.FormatUint(uint64(n), 10))
	}
	return text.String()
}

// learn replaces the known definitions by more, if there are any.
func (s *Source) learn(a *asked, layouts []schemas.LayoutRow) *rows.Definitions {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if len(a.ops)+len(a.sites)+len(layouts)+len(a.stacks)+len(a.programs) == 0 {
		return s.known
	}
	d := &rows.Definitions{
		Ops: maps.Clone(s.known.Ops), Sites: maps.Clone(s.known.Sites), Layouts: maps.Clone(s.known.Layouts),
		Programs: maps.Clone(s.known.Programs), Stacks: maps.Clone(s.known.Stacks),
	}
	for i := range a.ops {
		d.Ops[a.ops[i].OpID] = &a.ops[i]
	}
	for _, site := range a.sites {
		d.Sites[site.SiteID] = site
	}
	for i := range layouts {
		d.Layouts[layouts[i].LayoutID] = &layouts[i]
	}
	for _, stack := range a.stacks {
		d.Stacks[stack.StackID] = stack.Frames
	}
	maps.Copy(d.Programs, programs(a.programs))
	s.known = d
	return d
}

// programs are parted by id, each by position; a row may come twice.
func programs(positions []schemas.ProgramRow) map[uint64][]schemas.ProgramRow {
	slices.SortFunc(positions, func(a, b schemas.ProgramRow) int {
		return cmp.Or(cmp.Compare(a.ProgramID, b.ProgramID), cmp.Compare(a.Position, b.Position))
	})
	positions = slices.Compact(positions)
	found := map[uint64][]schemas.ProgramRow{}
	for len(positions) > 0 {
		id := positions[0].ProgramID
		end := slices.IndexFunc(positions, func(p schemas.ProgramRow) bool { return p.ProgramID != id })
		if end < 0 {
			end = len(positions)
		}
		found[id], positions = positions[:end:end], positions[end:]
	}
	return found
}

// floating finds the dtypes of floating-point numbers, as tap.main_dtypes does.
func floating() *regexp.Regexp { return regexp.MustCompile(`(?i)float|half|double`) }

// mainDtype is the float dtype of most rows; of equally many, the last by name.
func mainDtype(census []counted, layouts map[uint64]*schemas.LayoutRow) string {
	perDtype := map[string]uint64{}
	for _, c := range census {
		if l := layouts[c.layout]; l != nil && l.Kind == tensorKind {
			perDtype[l.Dtype] += c.rows
		}
	}
	isFloat, main := floating(), ""
	for dtype, count := range perDtype {
		if isFloat.MatchString(dtype) && (main == "" || cmp.Or(cmp.Compare(count, perDtype[main]), cmp.Compare(dtype, main)) > 0) {
			main = dtype
		}
	}
	return main
}
