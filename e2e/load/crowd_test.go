package load

import (
	"bufio"
	"encoding/json"
	"io"
	"os"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/tensortap/tensortap/e2e/internal/program"
)

// crowd is all agents, in some processes.
type crowd struct {
	of      fleetSize
	members []*member
	rows    int    // tensors of a step
	site    uint64 // of the first of them
}

// member is a process of publishers, as its parent sees it.
type member struct {
	process *program.Up
	orders  *json.Encoder
	answers *bufio.Reader
}

// startCrowd has the agents connect, and tell of their model.
func startCrowd(tb testing.TB, nats, dump string, of fleetSize, processes int) *crowd {
	tb.Helper()
	c := &crowd{of: of}
	for i := range processes {
		first, next := i*of.Agents/processes, (i+1)*of.Agents/processes
		c.members = append(c.members, startMember(tb, publishing{NATS: nats, Dump: dump, Spill: tb.TempDir(), Of: of, FirstAgent: first, Agents: next - first, Tensors: *tensors}))
	}
	t := c.rest(tb)
	c.rows, c.site = t.Rows, t.Site
	return c
}

func startMember(tb testing.TB, p publishing) *member {
	tb.Helper()
	self, err := os.Executable()
	if err != nil {
		tb.Fatal(err)
	}
	text, err := json.Marshal(p)
	if err != nil {
		tb.Fatal(err)
	}
	cmd := program.Command(tb, program.Setting{})
	cmd.Path, cmd.Args = self, []string{self, publisherRole, string(text)}
	stdin, err := cmd.StdinPipe()
	if err != nil {
		tb.Fatal(err)
	}
	process := program.NewUp("", cmd)
	reading, writing := io.Pipe()
	cmd.Stdout = writing
	if err := process.Begin(); err != nil {
		tb.Fatal(err)
	}
	go func() {
		<-process.Ended
		_ = writing.Close()
	}()
	tb.Cleanup(func() {
		_ = reading.Close()
		_ = process.Kill()
	})
	return &member{process, json.NewEncoder(stdin), bufio.NewReader(reading)}
}

// tell gives an order, and returns the answer.
func (m *member) tell(tb testing.TB, o order) (t tally) {
	tb.Helper()
	if err := m.orders.Encode(o); err != nil {
		tb.Fatalf("publishers: %v: %s", err, m.process.Stderr)
	}
	line, err := m.answers.ReadBytes('\n')
	if err == nil {
		err = json.Unmarshal(line, &t)
	}
	if err != nil {
		tb.Fatalf("publishers: %v: %s", err, m.process.Stderr)
	}
	return t
}

// tell gives all processes an order, and returns their answers as one.
func (c *crowd) tell(tb testing.TB, o order) (sum tally) {
	tb.Helper()
	for _, m := range c.members {
		t := m.tell(tb, o)
		sum.Rows, sum.Site = t.Rows, t.Site
		sum.Steps, sum.Calls = append(sum.Steps, t.Steps...), append(sum.Calls, t.Calls...)
		sum.Rest, sum.Waits, sum.Dead = sum.Rest+t.Rest, sum.Waits+t.Waits, sum.Dead+t.Dead
		sum.Late = max(sum.Late, t.Late)
	}
	slices.Sort(sum.Calls)
	return sum
}

// now is how they are, with the calls since they were asked last.
func (c *crowd) now(tb testing.TB) tally { tb.Helper(); return c.tell(tb, order{Tell: true}) }

// at has all of them together publish so many events a second.
func (c *crowd) at(tb testing.TB, rate float64) {
	tb.Helper()
	c.tell(tb, order{Every: time.Duration(float64(time.Second) * float64(c.of.Agents*c.rows) / rate)})
}

// rest has them publish nothing, and returns once the stream has all that they have published.
func (c *crowd) rest(tb testing.TB) tally {
	tb.Helper()
	t := c.tell(tb, order{})
	await(tb, "the agents to rest", func() bool {
		time.Sleep(20 * time.Millisecond)
		next := c.now(tb)
		next.Calls, next.Late = append(t.Calls, next.Calls...), max(t.Late, next.Late)
		t = next
		return t.Rest == c.of.Agents
	})
	slices.Sort(t.Calls)
	return t
}

// steps returns once each agent has published that many more, and at least the time has passed.
func (c *crowd) steps(tb testing.TB, more uint64, least time.Duration) tally {
	tb.Helper()
	begin := time.Now()
	t := c.now(tb)
	from, calls := t.Steps, t.Calls[:0] // those of before are not meant
	await(tb, "each agent to publish "+strconv.FormatUint(more, 10)+" steps", func() bool {
		time.Sleep(20 * time.Millisecond)
		next := c.now(tb)
		calls, next.Late = append(calls, next.Calls...), max(t.Late, next.Late)
		t = next
		return time.Since(begin) >= least && slices.EqualFunc(t.Steps, from, func(now, before uint64) bool { return now >= before+more })
	})
	t.Calls = slices.Sorted(slices.Values(calls))
	return t
}

// quantile is the value that this share of sorted values does not exceed.
func quantile(sorted []float64, share float64) float64 {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[min(len(sorted)-1, int(share*float64(len(sorted))))]
}

// events is how many tensors that many steps of the agents have.
func (c *crowd) events(steps []uint64) float64 {
	var sum uint64
	for _, n := range steps {
		sum += n
	}
	return float64(sum) * float64(c.rows)
}

// await polls until it holds.
func await(tb testing.TB, what string, holds func() bool) {
	tb.Helper()
	if err := program.Await(10*time.Minute, what, holds); err != nil {
		tb.Fatal(err)
	}
}
