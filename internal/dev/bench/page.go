package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"

	"github.com/tensortap/tensortap/internal/dev/testbed"
	"github.com/tensortap/tensortap/internal/system"
	"github.com/tensortap/tensortap/producers/msprobe"
)

// opsOfPage is how many ops each side of the comparison has that a browser opens.
const opsOfPage = 100_000

// pageFigure is a figure that web/browser/*.bench.ts measured.
type pageFigure struct {
	What    string  `json:"what"`
	Form    string  `json:"form"` // ms, s, MB, frames or clicks
	Values  rounds  `json:"values"`
	Share   float64 `json:"share"` // of the values that do not exceed the figure; 0 for the median
	Mark    float64 `json:"mark"`  // 0 for none
	AtLeast bool    `json:"at_least"`
}

// measurePage has a browser open two stored runs, and the file that a comparison is shared as.
func measurePage(ctx context.Context, e *env) (section, error) {
	var s section
	ops := e.pick(opsOfPage, opsOfPage/10)
	e.say("writing two dumps of %d ops", ops)
	problem, bench, err := e.largeDumps(comparison{ops: ops, ranks: 1, steps: 1})
	if err != nil {
		return s, err
	}
	folder := filepath.Join(e.folder, "page")
	err = e.upWithPage(ctx, folder, func(address string) error {
		e.say("storing both, in the system whose page is %s", address)
		if err := e.publishBoth(ctx, folder, problem, bench); err != nil {
			return err
		}
		e.say("writing the comparison as one file")
		file := filepath.Join(e.folder, "shared.html")
		if err := e.shareAsFile(ctx, problem, bench, file, &s); err != nil {
			return err
		}
		e.say("opening page and file in a browser")
		if err := e.browse(ctx, address, file, &s); err != nil {
			return err
		}
		e.say("storing a run of %d ranks and %d steps, and drawing it", testbed.DrawnRanks, testbed.DrawnSteps)
		if err := e.fillDrawn(ctx, folder); err != nil {
			return err
		}
		return e.inBrowser(ctx, "drawn", &s, "TENSORTAP_PAGE="+address)
	})
	s.note("Two stored runs of %d ops each, of the recorded dumps B02_weight_mix and B00_golden_mix with their ops repeated under new names, in the system of `tensortap up` on this machine, with Debian's Chromium, headless, 1280 × 800.", ops)
	s.note("The browser has no GPU: the processor that the program and the database share also draws. The load at the start says what else it had to do.")
	s.note("The heat-map is of a third run of %d ranks and %d steps with a tensor in each, which stands as it was inserted; what the database copies for trends rests meanwhile. Each of its pictures was asked for the first time.", testbed.DrawnRanks, testbed.DrawnSteps)
	s.note("The first op that is asked for opens the comparison, which reads what both runs define; it stays open for the next ones.")
	return s, err
}

// upWithPage runs the program on a folder while job asks its page.
func (e *env) upWithPage(ctx context.Context, folder string, job func(address string) error) error {
	command := exec.CommandContext(ctx, e.binary, "up", "--data", folder, "--spool", filepath.Join(folder, "spool"), "--engine", e.library, "--listen", "127.0.0.1:0") //nolint:gosec // our own
	output, err := command.StdoutPipe()
	if err != nil {
		return err
	}
	if err := command.Start(); err != nil {
		return err
	}
	address, err := pageAddress(bufio.NewScanner(output))
	if err == nil {
		err = job(address)
	}
	return errors.Join(err, command.Process.Signal(os.Interrupt), command.Wait())
}

// pageAddress is what the program says of where its page is.
func pageAddress(said *bufio.Scanner) (string, error) {
	page := regexp.MustCompile(`page\s+(http://\S+)`)
	for said.Scan() {
		if found := page.FindStringSubmatch(said.Text()); found != nil {
			return found[1], nil
		}
	}
	return "", errors.Join(errors.New("up did not say where its page is"), said.Err())
}

// publishBoth stores the two runs in the system that runs on the folder.
func (e *env) publishBoth(ctx context.Context, folder, problem, bench string) error {
	endpoint, err := system.Folder(folder).Find()
	if err != nil {
		return err
	}
	client, err := system.Connect(ctx, endpoint, time.Now)
	if err != nil {
		return err
	}
	defer client.Close()
	for name, path := range map[string]string{"problem": problem, "bench": bench} {
		if _, err := client.Publish(ctx, msprobe.Tool(), system.PublishRequest{Path: path, Run: name}, func(int64, int64) {}); err != nil {
			return err
		}
	}
	return client.WaitStored(ctx)
}

// fillDrawn stores the run whose heat-map is drawn, in the system that runs on the folder, and waits until the database rests.
func (e *env) fillDrawn(ctx context.Context, folder string) error {
	endpoint, err := system.Folder(folder).Find()
	if err != nil {
		return err
	}
	server, err := connect(endpoint)
	if err != nil {
		return err
	}
	err = server.database.Exec(ctx, "SYSTEM STOP VIEW tap_store.trend_fill") // else it copies all the while, for trends
	if err == nil {
		err = server.fillDrawn(ctx)
	}
	if err == nil {
		err = server.rested(ctx)
	}
	return errors.Join(err, server.close())
}

func (s *server) fillDrawn(ctx context.Context) error {
	return testbed.FillDrawn("drawn", func(statement string, parameters map[string]string) error {
		return s.database.Exec(clickhouse.Context(ctx, clickhouse.WithParameters(parameters)), statement)
	})
}

// rested returns once the database merges no more.
func (s *server) rested(ctx context.Context) error {
	for {
		merges, err := s.number(ctx, "SELECT toFloat64(count()) FROM system.merges")
		if err != nil || merges == 0 {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(time.Second):
		}
	}
}

// shareAsFile writes the comparison of two folders as one file.
func (e *env) shareAsFile(ctx context.Context, problem, bench, file string, s *section) error {
	var took rounds
	var answer string
	for range e.rounds {
		err := take(&took, func() (err error) {
			answer, _, err = e.runs(ctx, nil, e.binary, "compare", problem, bench, "--output", "html")
			return err
		})
		if err != nil {
			return err
		}
	}
	s.add(took.atMost("`compare DIR DIR --output html`", 0, seconds))
	const most = 10e6
	s.add(rounds{float64(len(answer))}.atMost("its file", most, megabytes))
	return os.WriteFile(file, []byte(answer), 0o600)
}

// browse has the browser measure page and file.
func (e *env) browse(ctx context.Context, address, file string, s *section) error {
	return e.inBrowser(ctx, "bench", s, "TENSORTAP_PAGE="+address, "TENSORTAP_SHARED="+file)
}

// inBrowser adds the figures of the measurements that a configuration of web/browser has.
func (e *env) inBrowser(ctx context.Context, configuration string, s *section, environment ...string) error {
	browser, err := exec.LookPath("chromium")
	if err != nil {
		return fmt.Errorf("the browser that measures: %w", err)
	}
	figures := filepath.Join(e.folder, configuration+".json")
	command := exec.CommandContext(ctx, filepath.Join("node_modules", ".bin", "vitest"), "run", "--config", "browser/"+configuration+".config.ts") //nolint:gosec // our own
	command.Dir = "web"
	command.Env = append(append(os.Environ(), environment...), "TENSORTAP_BROWSER="+browser, "TENSORTAP_FIGURES="+figures, fmt.Sprint("TENSORTAP_ROUNDS=", e.rounds))
	command.Stdout, command.Stderr = e.progress, e.progress
	if err := command.Run(); err != nil {
		return fmt.Errorf("measure in the browser: %w", err)
	}
	text, err := os.ReadFile(figures) //nolint:gosec // our own
	if err != nil {
		return err
	}
	var measured []pageFigure
	if err := json.Unmarshal(text, &measured); err != nil {
		return fmt.Errorf("figures of the browser: %w", err)
	}
	for i := range measured {
		f, err := measured[i].figure()
		if err != nil {
			return err
		}
		s.add(f)
	}
	return nil
}

// figure is the line of the document.
func (p *pageFigure) figure() (figure, error) {
	forms := map[string]func(float64) string{"ms": milliseconds, "s": seconds, "MB": megabytes, "frames": framesPerSecond, "clicks": clicks}
	form, known := forms[p.Form]
	if !known || len(p.Values) == 0 {
		return figure{}, fmt.Errorf("figure %q has form %q and %d values", p.What, p.Form, len(p.Values))
	}
	shown := p.Values
	if p.Share > 0 {
		shown = rounds{p.Values.quantile(p.Share)}
	}
	f := shown.atMost(p.What, p.Mark, form)
	if p.AtLeast {
		f = shown.atLeast(p.What, p.Mark, form)
	}
	if p.Share > 0 {
		f.detail = fmt.Sprintf("median %s, greatest %s of %d", form(p.Values.median()), form(p.Values.greatest()), len(p.Values))
	}
	return f, nil
}

func framesPerSecond(v float64) string { return fmt.Sprintf("%.0f frames/s", v) }

func clicks(v float64) string { return fmt.Sprintf("%.0f", v) }
