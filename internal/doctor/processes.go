package doctor

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/tensortap/tensortap/internal/strictyaml"
)

// Limits of looking at processes elsewhere.
const (
	mostProcesses = 10_000
	askedAtOnce   = 16
	answerWithin  = 5 * time.Second
	longestAnswer = 2000 // bytes
)

// ReadTargets reads a file of addresses as Prometheus takes it: a list of mappings with targets, and maybe labels.
func ReadTargets(file string) ([]string, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("read the addresses of processes: %w", err)
	}
	root, err := strictyaml.Parse(file, text)
	if err != nil {
		return nil, err
	}
	groups, err := root.List()
	if err != nil {
		return nil, err
	}
	var all []string
	for _, group := range groups {
		keys, err := group.Keys("targets", "labels")
		if err != nil {
			return nil, err
		}
		if keys["targets"].IsZero() {
			return nil, group.Errorf("it has no targets: want targets: [HOST:PORT]")
		}
		targets, err := keys["targets"].Texts()
		if err != nil {
			return nil, err
		}
		if all = append(all, targets...); len(all) > mostProcesses {
			return nil, group.Errorf("more than %d processes", mostProcesses)
		}
	}
	return all, nil
}

// processes asks each process elsewhere whether it is ready. All are told in the order of the file.
func (e *examination) processes(ctx context.Context) {
	answers := make([]string, len(e.in.Processes))
	var asking sync.WaitGroup
	places := make(chan struct{}, askedAtOnce)
	for i, address := range e.in.Processes {
		asking.Go(func() {
			places <- struct{}{}
			defer func() { <-places }()
			answers[i] = notReady(ctx, address)
		})
	}
	asking.Wait()
	for i, address := range e.in.Processes {
		if answers[i] != "" {
			e.wrong("process "+address, "look at its host and its log; it answers there with --metrics "+address, "%s", answers[i])
			continue
		}
		e.well("process "+address, "it is ready")
	}
}

// notReady is why a process is not ready; empty where it is.
func notReady(ctx context.Context, address string) string {
	ctx, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+"/readyz", http.NoBody)
	if err != nil {
		return fmt.Sprintf("%q is no HOST:PORT", address)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return fmt.Sprintf("it does not answer: %v", err)
	}
	defer response.Body.Close() //nolint:errcheck // only read
	if response.StatusCode == http.StatusOK {
		return ""
	}
	text, _ := io.ReadAll(io.LimitReader(response.Body, longestAnswer)) // the status says enough
	return fmt.Sprintf("it is not ready: %s", strings.ReplaceAll(strings.TrimSpace(string(text)), "\n", "; "))
}
