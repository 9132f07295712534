package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/tensortap/tensortap/internal/dev/processes"
	"github.com/tensortap/tensortap/internal/system"
	"github.com/tensortap/tensortap/producers/msprobe"
)

// measureUp starts the built program on a fresh folder and on one that is in use.
func measureUp(ctx context.Context, e *env) (section, error) {
	var s section
	var fresh, again, shared, single rounds
	for round := range e.rounds {
		folder := filepath.Join(e.folder, fmt.Sprintf("up%d", round))
		took, err := e.up(ctx, folder, func(*exec.Cmd) error { return e.fillFolder(ctx, folder) })
		if err != nil {
			return s, err
		}
		fresh = append(fresh, took)
		took, err = e.up(ctx, folder, func(command *exec.Cmd) error {
			if err := rest(ctx, time.Duration(e.pick(5, 2))*time.Second); err != nil {
				return err
			}
			m := processes.MemoryOf(command.Process.Pid)
			shared, single = append(shared, m.Shared), append(single, m.Single)
			return nil
		})
		if err != nil {
			return s, err
		}
		again = append(again, took)
		e.say("fresh %s, again %s, idle %s", seconds(fresh[round]), seconds(again[round]), megabytes(shared[round]))
	}
	s.add(again.atMost("`up` on an existing folder, until it says that it is ready", 0.5, seconds))
	s.add(fresh.atMost("`up` on a fresh folder", 1.5, seconds))
	s.add(shared.atMost("idle memory of all its processes (PSS)", 400e6, megabytes))
	s.add(single.atMost("the same, shared pages once per process (RSS)", 0, megabytes))
	s.note("From the start of the process. The existing folder holds two published dumps. Memory is read some seconds after that start.")
	return s, nil
}

// up starts the program on a folder, calls job while it runs, and says how long it took to be ready.
func (e *env) up(ctx context.Context, folder string, job func(*exec.Cmd) error) (float64, error) {
	command := exec.CommandContext(ctx, e.binary, "up", "--data", folder, "--spool", filepath.Join(folder, "spool"), "--engine", e.library) //nolint:gosec // our own
	var complaint strings.Builder
	command.Stderr = &complaint
	output, err := command.StdoutPipe()
	if err != nil {
		return 0, err
	}
	begin := time.Now()
	if err := command.Start(); err != nil {
		return 0, err
	}
	said, err := bufio.NewReader(output).ReadString('\n')
	took := time.Since(begin).Seconds()
	if err == nil && strings.Contains(said, "is up") {
		err = job(command)
	}
	err = errors.Join(err, command.Process.Signal(syscall.SIGTERM), command.Wait())
	if err != nil {
		return 0, fmt.Errorf("up: %w: %s%s", err, said, complaint.String())
	}
	return took, nil
}

// fillFolder publishes two dumps to the system that runs on the folder.
func (e *env) fillFolder(ctx context.Context, folder string) error {
	endpoint, err := system.Folder(folder).Find()
	if err != nil {
		return err
	}
	client, err := system.Connect(ctx, endpoint, time.Now)
	if err != nil {
		return err
	}
	defer client.Close()
	for _, name := range []string{"B02_weight_mix", "B00_golden_mix"} {
		root, err := e.unpack(name, e.folder)
		if err != nil {
			return err
		}
		if _, err := client.Publish(ctx, msprobe.Tool(), system.PublishRequest{Path: root, Run: name}, func(int64, int64) {}); err != nil {
			return err
		}
	}
	return client.WaitStored(ctx)
}
