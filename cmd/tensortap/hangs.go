package main

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/tensortap/tensortap/analysis/ask"
	"github.com/tensortap/tensortap/analysis/report"
	"github.com/tensortap/tensortap/analysis/symptoms"
	"github.com/tensortap/tensortap/internal/system"
)

const (
	hangsEvery = 2 * time.Second
	hangsShare = 2 // to ask takes one in so many parts of the time at most
)

// duringHangs runs job and tells meanwhile of collectives of the run that wait, each once.
func (a *app) duringHangs(ctx context.Context, client *system.Client, run string, job func() error) error {
	if client.Endpoint.Reader == "" {
		return job()
	}
	watching, stop := context.WithCancel(ctx)
	var group errgroup.Group
	told := map[string]bool{}
	group.Go(func() error {
		a.watchHangs(watching, client, run, told)
		return nil
	})
	err := job()
	stop()
	_ = group.Wait() // it gives no error
	return err
}

// watchHangs asks again and again until ctx ends.
func (a *app) watchHangs(ctx context.Context, client *system.Client, run string, told map[string]bool) {
	kept := keptReader{endpoint: client.Endpoint}
	defer kept.close()
	again(ctx, hangsShare, func() {
		hangs, err := kept.hangs(ctx, run)
		if err == nil { // the database may be away for a while; then the next look says it
			a.tellHangs(run, hangs, told)
		}
	})
}

// keptReader is kept from look to look, and opened anew after one that failed. It is not safe for use by several goroutines.
type keptReader struct {
	endpoint system.Endpoint
	door     *ask.Door
}

func (k *keptReader) hangs(ctx context.Context, run string) (hangs []report.Hang, err error) {
	if k.door == nil {
		if k.door, err = system.OpenReader(ctx, k.endpoint); err != nil {
			return nil, err
		}
	}
	if hangs, err = askHangs(ctx, k.door, run); err != nil {
		k.close()
	}
	return hangs, err
}

func (k *keptReader) close() {
	if k.door != nil {
		_ = k.door.Close() // only read
		k.door = nil
	}
}

// again looks until ctx ends. To look takes one in so many parts of the time at most.
func again(ctx context.Context, share int, look func()) {
	pause := hangsEvery
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(pause):
		}
		began := time.Now()
		look()
		pause = max(hangsEvery, time.Duration(share)*time.Since(began))
	}
}

func askHangs(ctx context.Context, reader *ask.Door, run string) ([]report.Hang, error) {
	table, err := reader.Report(ctx, "hang", map[string]string{
		"run": run, "waiting_seconds": strconv.Itoa(int(symptoms.HangWaiting.Seconds())), "limit": "10",
	})
	// Signs of life may come to the tables behind calls: without any, the program looks as if it were over.
	return slices.DeleteFunc(report.Hangs(table), func(h report.Hang) bool { return !h.Live }), err
}

// tellHangs says those that were not told before, the first ones.
func (a *app) tellHangs(run string, hangs []report.Hang, told map[string]bool) {
	const most = 3
	said := 0
	for _, h := range hangs {
		if told[h.Key] || said == most {
			continue
		}
		told[h.Key] = true
		said++
		a.tellLaunch("hang: " + report.Printable(h.Sentence))
	}
	if said > 0 {
		a.tellLaunch(fmt.Sprintf("more of that: %s report hang --run %s", a.program(), report.Argument(run)))
	}
}
