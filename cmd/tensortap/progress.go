package main

import (
	"time"

	"github.com/schollz/progressbar/v3"
)

// progress is a bar on a terminal, and nothing elsewhere.
type progress struct {
	bar *progressbar.ProgressBar
}

func (a *app) progress(what string) *progress { return a.progressIn(what, true) }

// progressIn shows bytes, or another unit.
func (a *app) progressIn(what string, bytes bool) *progress {
	if !a.terminal(a.stderr) {
		return &progress{}
	}
	return &progress{bar: progressbar.NewOptions64(-1,
		progressbar.OptionSetWriter(a.stderr), progressbar.OptionSetDescription(what), progressbar.OptionShowBytes(bytes),
		progressbar.OptionThrottle(100*time.Millisecond), progressbar.OptionClearOnFinish(),
	)}
}

// set shows how many of all bytes are done.
func (p *progress) set(done, all int64) {
	if p.bar == nil {
		return
	}
	if p.bar.GetMax64() != all {
		p.bar.ChangeMax64(all)
	}
	_ = p.bar.Set64(done)
}

func (p *progress) finish() {
	if p.bar != nil {
		_ = p.bar.Finish()
	}
}
