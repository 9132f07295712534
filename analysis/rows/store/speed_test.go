package store_test

import (
	"fmt"
	"runtime"
	"strconv"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/tensortap/tensortap/analysis/rows"
	"github.com/tensortap/tensortap/analysis/rows/store"
	"github.com/tensortap/tensortap/internal/dev/testbed"
)

// Two runs of 5 million tensors each, read in windows of so many steps of all four ranks, both runs at once.
func BenchmarkTenMillionTensors(b *testing.B) {
	d := startDatabase(b)
	err := testbed.FillTwoRuns(testbed.RowsOfRun, func(statement string, parameters map[string]string) error {
		d.Query(b, statement, "", parameters)
		return nil
	})
	if err != nil {
		b.Fatal(err)
	}
	d.Query(b, "OPTIMIZE TABLE tap_store.tensor", "", nil)
	for _, steps := range []int{5, 12, 25, 50, 125} {
		b.Run(strconv.Itoa(steps*20)+"k rows a window", func(b *testing.B) {
			for b.Loop() {
				readBoth(b, d, steps)
			}
		})
	}
}

func readBoth(b *testing.B, d *database, steps int) {
	b.Helper()
	source := store.Open(d.Conn)
	var reading errgroup.Group
	begin := time.Now()
	var runs [2]*rows.Run
	for i, name := range []string{"problem", "bench"} {
		reading.Go(func() (err error) {
			runs[i], err = source.Run(b.Context(), name)
			return err
		})
	}
	if err := reading.Wait(); err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(float64(time.Since(begin).Milliseconds()), "ms/facts")
	peak := uint64(0)
	for from := 0; from < 250; from += steps {
		var read [2]map[rows.Place]*rows.Tensors
		for i, run := range runs {
			reading.Go(func() (err error) {
				read[i], err = source.Tensors(b.Context(), run, someSteps(from, min(from+steps, 250)))
				return err
			})
		}
		if err := reading.Wait(); err != nil {
			b.Fatal(err)
		}
		if len(read[0]) != len(read[1]) || len(read[0]) == 0 {
			b.Fatal(fmt.Sprint("places read: ", len(read[0]), " and ", len(read[1])))
		}
		var memory runtime.MemStats
		runtime.ReadMemStats(&memory)
		peak = max(peak, memory.HeapSys-memory.HeapReleased)
	}
	b.ReportMetric(float64(peak>>20), "MiB/heap")
}

func someSteps(from, to int) []rows.Place {
	var places []rows.Place
	for rank := range uint32(4) {
		for step := from; step < to; step++ {
			places = append(places, rows.Place{Rank: rank, Step: uint32(step)})
		}
	}
	return places
}
