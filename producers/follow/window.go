package follow

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/zeebo/xxh3"

	"github.com/tensortap/tensortap/producers/internal/batch"
	"github.com/tensortap/tensortap/producers/internal/lines"
	"github.com/tensortap/tensortap/producers/internal/logline"
	"github.com/tensortap/tensortap/schemas"
)

const (
	rowsPerBatch = 8192
	basisRead    = "read" // the time of a line is when it was read
)

// publish sends the messages of a cut, which are the same each time.
func (f *follower) publish(ctx context.Context, c *cut) error {
	id := schemas.Identity{RunID: f.cfg.RunID, Rank: schemas.NoRank, Epoch: f.state.epoch}
	if f.cfg.Rank != nil {
		id.Rank = *f.cfg.Rank
	}
	var log, metric uint64
	messages := batch.Messages(ctx, func() schemas.Identity { return id }, rowsPerBatch, func(_ context.Context, out *batch.Set) error {
		out.Log.SetNumber(c.Log)
		out.Metric.SetNumber(c.Metric)
		err := errors.Join(f.rows(c, out), out.Rest())
		log, metric = out.Log.Number(), out.Metric.Number()
		return err
	})
	for m, err := range messages {
		if err == nil {
			err = f.cfg.Publisher.Publish(ctx, m)
		}
		if err != nil {
			return err
		}
	}
	if err := f.cfg.Publisher.Flush(ctx); err != nil {
		return err
	}
	return f.state.acknowledge(c, log, metric)
}

// rows are those of a cut. Lines that were read at once are a nanosecond apart, in their order.
func (f *follower) rows(c *cut, out *batch.Set) error {
	ns := c.TimeNs
	for i := range c.Parts {
		p := &c.Parts[i]
		if f.cfg.Where != nil {
			p.Path = f.cfg.Where(p.ID, p.Path)
		}
		if p.TimeNs, p.Host = c.TimeNs, f.cfg.Host; f.cfg.Rank != nil {
			if err := p.records(out); err != nil {
				return err
			}
			continue
		}
		rows := &logline.Rows{Out: out, Stream: p.Stream, Placed: true}
		rows.Time = func(l logline.Line) (int64, string) {
			ns++
			return f.timeOf(l, ns-1)
		}
		rows.Fill = func(row *schemas.LogRow) {
			row.Host, row.Role = f.cfg.Host, p.Role
			if p.PID > 0 {
				row.PID = &p.PID
			}
		}
		if err := p.read(c.TimeNs, rows.Add); err != nil {
			return err
		}
	}
	return nil
}

// timeOf is the line's own time, if that is wanted, else the one given.
func (f *follower) timeOf(l logline.Line, readNs int64) (int64, string) {
	switch {
	case !f.cfg.LineTimes || l.Carried:
		return readNs, basisRead
	case l.Clock == logline.ZonedClock:
		return l.TimeNs, "line"
	}
	return l.TimeNs, "line in host's zone"
}

// read gives the lines of a part. What is there no more is a line that says so.
func (p *part) read(timeNs int64, each func(logline.Line) error) error {
	text, why := p.text()
	joiner := logline.Joiner{Parser: logline.Parser{Zone: time.Local, Newest: time.Unix(0, timeNs)}}
	if why != nil {
		return joiner.Add(fmt.Sprintf("WARNING:tensortap:%d bytes of %s are lost: %v", p.To-p.From, filepath.Base(p.Path), why), p.From, each)
	}
	err := lines.Each(strings.NewReader(text), p.From, func(l lines.Line) error {
		return joiner.Add(string(l.Text), l.From, each)
	})
	return errors.Join(err, joiner.Flush(each))
}

var errChanged = errors.New("they are not what they were")

var errGivenUp = errors.New("they were given up or cut off before they could be read")

func (p *part) text() (string, error) {
	if p.Sum == 0 {
		return "", errGivenUp
	}
	input, err := os.Open(p.Path)
	if err != nil {
		return "", err
	}
	defer input.Close() //nolint:errcheck // only read
	text := make([]byte, p.To-p.From)
	if _, err := io.ReadFull(io.NewSectionReader(input, p.From, p.To-p.From), text); err != nil {
		return "", err
	}
	if xxh3.Hash(text) != p.Sum {
		return "", errChanged
	}
	return string(text), nil
}

// RoleOf is what a process does in its program, by its command line or title; empty when that does not say.
func RoleOf(pid int64) string {
	line, err := os.ReadFile(filepath.Join("/proc", strconv.FormatInt(pid, 10), "cmdline"))
	if err != nil {
		return ""
	}
	return roleIn(strings.ReplaceAll(string(line), "\x00", " "))
}

func roleIn(command string) string {
	for _, known := range []struct{ part, role string }{
		{"sglang::scheduler", "scheduler"},
		{"sglang::detokenizer", "detokenizer"},
		{"sglang::tokenizer", "tokenizer"},
		{"sglang::http_server", "tokenizer"},
		{"sglang::data_parallel_controller", "data parallel controller"},
		{"sglang.launch_server", "tokenizer"},
		{"VLLM::EngineCore", "scheduler"},
		{"VLLM::Worker", "worker"},
		{"VLLM::APIServer", "api server"},
		{"vllm serve", "api server"},
		{"vllm.entrypoints", "api server"},
		{"pt_data_worker", "data loader"},
		{"data_worker", "data loader"},
		{"torch.distributed.run", "launcher"},
		{"torchrun", "launcher"},
		{"multiprocessing.resource_tracker", "resource tracker"},
		{"multiprocessing.forkserver", "worker"},
		{"multiprocessing.spawn", "worker"},
		{"scheduler", "scheduler"},
		{"detokenizer", "detokenizer"},
		{"tokenizer", "tokenizer"},
		{"worker", "worker"},
	} {
		if strings.Contains(command, known.part) {
			return known.role
		}
	}
	return ""
}
