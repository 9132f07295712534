package alerts

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/rs/zerolog"

	"github.com/tensortap/tensortap/consumers/alerts/receiver"
	"github.com/tensortap/tensortap/schemas"
)

// world is what roles share: a stream's bucket, the stored changes, what holds, and a clock.
type world struct {
	bucket jetstream.KeyValue
	now    time.Time
	holds  []map[string]string // rows of the rule
	broken error               // of the rule
	behind time.Duration       // of the tables
	looked string              // up to when the tables knew all at the last look, as the rule was asked
	gone   map[string]bool     // runs that are deleted
	ended  time.Time           // the last event of the run that the tables have; zero where it goes on
	mutex  sync.Mutex
	stored map[string]schemas.AlertRow // by message id, as the stream keeps one of each
	sent   int                         // messages that were published, the same ones again counted
	owner  *Role
	told   []string
	away   error // why the receiver cannot be told
	log    *strings.Builder
}

func newWorld(t *testing.T) *world {
	t.Helper()
	s, err := server.NewServer(&server.Options{JetStream: true, StoreDir: t.TempDir(), Host: "127.0.0.1", Port: -1, NoLog: true, NoSigs: true})
	if err != nil {
		t.Fatal(err)
	}
	s.Start()
	t.Cleanup(func() { s.Shutdown(); s.WaitForShutdown() })
	if !s.ReadyForConnections(time.Minute) {
		t.Fatal("NATS server is not ready")
	}
	conn, err := nats.Connect(s.ClientURL(), nats.Timeout(time.Minute))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(conn.Close)
	js, err := jetstream.New(conn, jetstream.WithDefaultTimeout(time.Minute))
	if err != nil {
		t.Fatal(err)
	}
	w := &world{now: start(), stored: map[string]schemas.AlertRow{}, log: &strings.Builder{}}
	if w.bucket, err = js.CreateKeyValue(t.Context(), jetstream.KeyValueConfig{Bucket: "alerts"}); err != nil {
		t.Fatal(err)
	}
	return w
}

// Send makes the world a receiver.
func (w *world) Send(_ context.Context, n receiver.Notification) error {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	if w.away != nil {
		return w.away
	}
	var words []string
	for _, a := range n.Alerts {
		words = append(words, fmt.Sprintf("%s %s %d", a.State, a.Labels["rank"], a.Change))
	}
	w.told = append(w.told, strings.Join(words, ", "))
	return nil
}

func (*world) Preview(receiver.Notification) (string, error) { return "", nil }
func (*world) Where() string                                 { return "the test" }

// role is one more role, with the rule rank-silent.
func (w *world) role(t *testing.T) *Role {
	t.Helper()
	cfg, err := DefaultConfig()
	if err != nil {
		t.Fatal(err)
	}
	rule, err := cfg.Rule("rank-silent")
	if err != nil {
		t.Fatal(err)
	}
	cfg.Rules, cfg.Receivers = []Rule{*rule}, []Target{{Name: "world", Receiver: w}}
	r := &Role{
		Config: cfg, Bucket: w.bucket, Now: func() time.Time { return w.now }, Log: zerolog.New(w.log),
		Source: Source{
			Rows: func(_ context.Context, _ string, parameters map[string]string, _ int) ([]map[string]string, error) {
				w.looked = parameters["looked_ns"]
				return w.holds, w.broken
			},
			Current:  w.current,
			Measured: func(context.Context) (Measured, error) { return Measured{Behind: w.behind}, nil },
			Deleted:  func(_ context.Context, run string) (bool, error) { return w.gone[run], nil },
		},
		History: func(context.Context) ([]schemas.AlertRow, error) { return slices.Collect(maps.Values(w.stored)), nil },
		Publish: func(_ context.Context, messages ...schemas.Message) error { return w.publish(messages) },
		LetGo:   func(context.Context) {},
		said:    map[question]string{},
	}
	r.Mine = func(context.Context, string) (bool, error) { return w.owner == nil || w.owner == r, nil }
	return r
}

// current is the run, until an hour after its last event.
func (w *world) current(_ context.Context, known time.Time) ([]string, error) {
	if !w.ended.IsZero() && known.Sub(w.ended) > time.Hour {
		return nil, nil
	}
	return []string{"nightly"}, nil
}

func (w *world) publish(messages []schemas.Message) error {
	for _, m := range messages {
		rows, err := schemas.DecodeRows[schemas.AlertRow](m)
		if err != nil {
			return err
		}
		w.sent++
		if _, twice := w.stored[m.ID()]; !twice {
			w.stored[m.ID()] = rows[0]
		}
	}
	return nil
}

// silent are rows of ranks.
func silent(ranks ...string) []map[string]string {
	var rows []map[string]string
	for _, rank := range ranks {
		rows = append(rows, map[string]string{"run": "nightly", "rank": rank, "what": "died", "step": "3"})
	}
	return rows
}

// look has the role look after so many seconds, and says what was told since the last look.
func (w *world) look(t *testing.T, r *Role, seconds int) []string {
	t.Helper()
	w.now = w.now.Add(time.Duration(seconds) * time.Second)
	if err := r.look(t.Context()); err != nil {
		t.Fatal(err)
	}
	told := w.told
	w.told = nil
	return told
}

func requireTold(t *testing.T, got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("told %q, want %q", got, want)
	}
}

func TestAlertsOfAGroupAreSentTogetherAndOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	r := w.role(t)
	requireTold(t, w.look(t, r, 0))
	w.holds = silent("3", "5", "3")
	if told := w.look(t, r, 15); len(told) != 1 || !strings.Contains(told[0], "firing 3 1") || !strings.Contains(told[0], "firing 5 1") {
		t.Errorf("two ranks of one run: %q, want one notification", told)
	}
	requireTold(t, w.look(t, r, 15))
	w.holds = silent("5")
	requireTold(t, w.look(t, r, 15))
	requireTold(t, w.look(t, r, 60), "resolved 3 2")
	if len(w.stored) != 3 || w.sent != 3 {
		t.Errorf("%d changes stored, %d published, want 3", len(w.stored), w.sent)
	}
}

func TestNothingIsForgottenOrFiredAgainAfterAKill(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.holds = silent("3")
	w.away = errors.New("killed before it was told")
	if r := w.role(t); r.look(t.Context()) != nil || len(w.stored) != 1 {
		t.Fatalf("%d changes stored", len(w.stored))
	}
	w.away = nil
	requireTold(t, w.look(t, w.role(t), 15), "firing 3 1")
	again := w.role(t)
	requireTold(t, w.look(t, again, 15))
	w.holds = nil
	requireTold(t, w.look(t, w.role(t), 15)) // killed while the condition was gone: it counts from here on
	requireTold(t, w.look(t, again, 30))
	requireTold(t, w.look(t, again, 60), "resolved 3 2")
	requireTold(t, w.look(t, w.role(t), 15))
	if w.sent != 2 {
		t.Errorf("%d changes published, want 2", w.sent)
	}
}

func TestAKillBetweenSendAndNoteTellsTwiceAndStoresOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.holds = silent("3")
	first := w.role(t)
	ctx, cancel := context.WithCancel(t.Context())
	killing := &killing{world: w, kill: cancel}
	first.Config.Receivers[0].Receiver = killing
	if err := first.look(ctx); err == nil {
		t.Fatal("the note was written by who was killed")
	}
	requireTold(t, w.told, "firing 3 1")
	w.told = nil
	requireTold(t, w.look(t, w.role(t), 15), "firing 3 1")
	requireTold(t, w.look(t, w.role(t), 15))
	if w.sent != 1 {
		t.Errorf("%d changes published, want 1", w.sent)
	}
}

// killing ends its role once it has told.
type killing struct {
	*world
	kill func()
}

func (k *killing) Send(ctx context.Context, n receiver.Notification) error {
	defer k.kill()
	return k.world.Send(ctx, n)
}

func TestOfTwoRolesOneIsAtWork(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.holds = silent("3")
	first, second := w.role(t), w.role(t)
	w.owner = first
	requireTold(t, w.look(t, first, 0), "firing 3 1")
	requireTold(t, w.look(t, second, 0))
	w.owner = second // the first is frozen, and its lease ended
	w.holds = silent("3", "4")
	requireTold(t, w.look(t, second, 15), "firing 4 1")
	w.owner = nil // the first thinks that it has it still
	w.holds = silent("3", "4", "5")
	w.now = w.now.Add(15 * time.Second)
	err := first.look(t.Context())
	if err == nil {
		t.Error("a role that was frozen noted what another had noted since")
	}
	w.told = nil
	requireTold(t, w.look(t, second, 15), "firing 5 1")
	if len(w.stored) != 3 {
		t.Errorf("%d changes stored, want one of each rank", len(w.stored))
	}
}

func TestAReceiverThatWasAwayHearsOfWhatCameAndWent(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	r := w.role(t)
	requireTold(t, w.look(t, r, 0))
	w.away, w.holds = errors.New("connection refused"), silent("3")
	requireTold(t, w.look(t, r, 15))
	w.holds = nil
	for range 10 {
		requireTold(t, w.look(t, r, 15))
	}
	w.away = nil
	requireTold(t, w.look(t, r, 60), "resolved 3 2")
	if said := strings.Count(w.log.String(), "receiver could not be told"); said != 1 {
		t.Errorf("it was said %d times that the receiver is away, want once:\n%s", said, w.log)
	}
}

func TestANewReceiverHearsOfWhatFiresAndNotOfWhatIsOver(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	r := w.role(t)
	w.holds = silent("3", "4")
	w.look(t, r, 0)
	w.holds = silent("4")
	w.look(t, r, 15)
	requireTold(t, w.look(t, r, 60), "resolved 3 2")
	r = w.role(t)
	r.Config.Receivers[0].Name = "new"
	requireTold(t, w.look(t, r, 15), "firing 4 1")
}

func TestASilenceKeepsAlertsFromReceiversAndNotFromTheStream(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	r := w.role(t)
	s, err := AddSilence(t.Context(), w.bucket, Silence{Match: map[string]string{"rule": "rank-silent", "rank": "3"}, Until: w.now.Add(10 * time.Minute)})
	if err != nil {
		t.Fatal(err)
	}
	w.holds = silent("3", "4")
	requireTold(t, w.look(t, r, 0), "firing 4 1")
	if len(w.stored) != 2 {
		t.Errorf("%d changes stored, want 2", len(w.stored))
	}
	w.holds = silent("3", "4", "5")
	requireTold(t, w.look(t, r, 590), "firing 5 1")
	requireTold(t, w.look(t, r, 15), "firing 3 1") // it fires still, and the silence is over
	if all, err := Silences(t.Context(), w.bucket); err != nil || len(all) != 0 {
		t.Errorf("a silence that is over: %v, %v", all, err)
	}
	if err := RemoveSilence(t.Context(), w.bucket, s.ID); err == nil || err.Error() != fmt.Sprintf("no silence has the id %q: none is set", s.ID) {
		t.Errorf("remove it again: %v", err)
	}
}

func TestWhatIsResolvedInSilenceIsNotTold(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	r := w.role(t)
	s, err := AddSilence(t.Context(), w.bucket, Silence{Match: map[string]string{"run": "nightly"}, Until: w.now.Add(time.Hour)})
	if err != nil {
		t.Fatal(err)
	}
	w.holds = silent("3")
	requireTold(t, w.look(t, r, 0))
	w.holds = nil
	requireTold(t, w.look(t, r, 15))
	requireTold(t, w.look(t, r, 60))
	if err := RemoveSilence(t.Context(), w.bucket, s.ID); err != nil {
		t.Fatal(err)
	}
	requireTold(t, w.look(t, r, 15))
}

func TestMoreRowsThanAreFollowedAreSaid(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for rank := range mostRows + 5 {
		w.holds = append(w.holds, silent(fmt.Sprint(rank))...)
	}
	w.look(t, w.role(t), 0)
	if len(w.stored) != mostRows || !strings.Contains(w.log.String(), "more rows than are followed") {
		t.Errorf("%d changes stored, log %s", len(w.stored), w.log)
	}
}

func TestHostileNamesStayInTheirPlace(t *testing.T) {
	t.Parallel()
	cfg, err := DefaultConfig()
	if err != nil {
		t.Fatal(err)
	}
	rule, err := cfg.Rule("rank-silent")
	if err != nil {
		t.Fatal(err)
	}
	run := "a'; rm -rf / #\n{rank}\x1b[31m"
	c := conditionOf(&cfg, rule, map[string]string{"run": run, "rank": "3", "what": "died", "step": "1"})
	if c.command != `tensortap report ranks --run $'a\'; rm -rf / #\n{rank}\x1b[31m'` || strings.ContainsAny(c.summary, "\n\x1b") {
		t.Errorf("command %q, summary %q", c.command, c.summary)
	}
	if c.labels["run"] != run {
		t.Errorf("label %q, want the name as it is", c.labels["run"])
	}
	if other := conditionOf(&cfg, rule, map[string]string{"run": "a", "rank": "3"}); other.fingerprint == c.fingerprint {
		t.Error("two runs have one fingerprint")
	}
}
