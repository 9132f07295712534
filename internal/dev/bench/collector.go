package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/tensortap/tensortap/internal/system"
)

// leastOfMsprobe is the fewest bytes on disk that msProbe was seen to write per tensor.
const leastOfMsprobe = 440

// measureCollector trains a small model under the collector, has an agent publish what it wrote, and adds up the bytes.
func measureCollector(ctx context.Context, e *env) (section, error) {
	var s section
	for _, level := range []string{"L0", "L1", "mix"} {
		spool := filepath.Join(e.folder, "spool-"+level)
		if err := e.train(ctx, spool, level, e.pick(30, 3)); err != nil {
			return s, err
		}
		err := e.withServer(ctx, shortArchiveAge, func(ctx context.Context, server *server) error {
			if err := server.serveAll(ctx, spool); err != nil {
				return err
			}
			got, err := server.sizes(ctx)
			got.figuresOfCollector(&s, level)
			return err
		})
		if err != nil {
			return s, err
		}
	}
	s.note("Rows of a training of the small Llama, from the collector by way of the agent; marks are a tenth of what msProbe writes per tensor at least.")
	return s, nil
}

func (z *sizes) figuresOfCollector(s *section, level string) {
	one := func(name string, bytes float64) {
		f := rounds{bytes / z.rows}.atMost(level+": "+name, leastOfMsprobe/10, bytesEach)
		f.detail = fmt.Sprintf("%.0f rows", z.rows)
		s.add(f)
	}
	one("bus", z.bus)
	one("bus, definitions included", z.whole)
	one("Parquet", z.parquet)
	one("ClickHouse, merged", z.merged)
}

// train writes the spool of a training.
func (e *env) train(ctx context.Context, spool, level string, steps int) error {
	command := exec.CommandContext(ctx, e.torch, "bench/overhead.py", "--spool", spool, level, strconv.Itoa(steps)) //nolint:gosec // named by who runs this
	command.Dir = filepath.Join("producers", "torch")
	command.Env = append(os.Environ(), "PYTHONPATH=src", "OMP_NUM_THREADS=1")
	if out, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("train with the collector: %w: %s", err, out)
	}
	return nil
}

// serveAll publishes the spools below a root, and returns when none is left.
func (s *server) serveAll(ctx context.Context, root string) error {
	serving, stop := context.WithCancel(ctx)
	defer stop()
	group, serving := errgroup.WithContext(serving)
	group.Go(func() error {
		return s.client.Serve(serving, system.ServeRequest{Spool: root, Tell: func(string) {}, Waiting: func(error) {}})
	})
	var err error
	for left := 1; left > 0 && err == nil && serving.Err() == nil; {
		var spools []string
		spools, err = filepath.Glob(filepath.Join(root, "*-*"))
		left = len(spools)
		err = errors.Join(err, rest(serving, 50*time.Millisecond))
	}
	stop()
	return errors.Join(err, group.Wait())
}
