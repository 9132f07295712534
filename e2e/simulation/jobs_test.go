package simulation

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/tensortap/tensortap/pipelines"
	"github.com/tensortap/tensortap/schemas"
)

// job is a step that a publisher publishes.
type job struct {
	step    uint32
	content uint64
	replace bool
	after   time.Duration
}

// jobs lists the work of one publisher, and the parts that are done. Whoever starts the publisher again knows both.
type jobs struct {
	world *world
	list  []job
	next  int
}

// jobs are steps of few numbers and contents, so that publishers meet.
func (w *world) jobs() *jobs {
	j := &jobs{world: w}
	for range 1 + w.dice.Below(4) {
		j.list = append(j.list, job{
			step: uint32(w.dice.Below(2)), content: uint64(w.dice.Below(2)), replace: w.dice.Below(3) == 0, after: w.dice.Upto(trouble / 4),
		})
	}
	return j
}

func (j *jobs) run(ctx context.Context, l *life) {
	conn, js := j.world.connect(ctx, l.door)
	if conn == nil {
		return
	}
	defer conn.Close()
	publisher, err := pipelines.NewPublisher(j.world.config(l).Publish, js, j.world.clock(l.name), nil)
	if err != nil {
		j.world.fail("publisher: %v", err)
		return
	}
	claims := j.claims(ctx, js)
	for j.next < len(j.list) && ctx.Err() == nil {
		now := j.list[j.next]
		time.Sleep(now.after)
		for ctx.Err() == nil && !j.publish(ctx, claims, publisher, now) {
			time.Sleep(time.Second)
		}
		if ctx.Err() == nil {
			j.next++
		}
	}
}

// claims opens the bucket of claims, as soon as that is possible.
func (j *jobs) claims(ctx context.Context, js jetstream.JetStream) *pipelines.Claims {
	for ctx.Err() == nil {
		if claims, err := pipelines.OpenClaims(ctx, js); err == nil {
			return claims
		}
		time.Sleep(time.Second)
	}
	return nil
}

// publish does what the command does for one step of one rank. It says whether that came to an end.
func (j *jobs) publish(ctx context.Context, claims *pipelines.Claims, publisher *pipelines.Publisher, now job) bool {
	claim, err := claims.Make(ctx, pipelines.ClaimRequest{
		RunID: run, Rank: rank, Step: now.step, Content: now.content, EventTimeNs: 1, Replace: now.replace,
	})
	if errors.Is(err, pipelines.ErrOtherContent) || err == nil && claim.Done {
		return true
	}
	if err != nil {
		return false
	}
	messages := messagesFor(now.step, now.content, claim.Generation, claim.Epoch)
	for _, m := range messages {
		if publisher.Publish(ctx, m) != nil {
			return false
		}
	}
	if publisher.Flush(ctx) != nil {
		return false
	}
	for ctx.Err() == nil {
		if err = claims.Finish(ctx, claim); err == nil || errors.Is(err, pipelines.ErrOtherContent) {
			j.world.finish(messages)
			return true
		}
		time.Sleep(time.Second)
	}
	return false
}

func (w *world) finish(messages []schemas.Message) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	for _, m := range messages {
		w.finished[m.ID()] = m
	}
}

// poison sends a message that was damaged on its way.
func (w *world) poison() {
	time.Sleep(w.dice.Upto(trouble))
	m := messagesFor(9, 9, 0, 9)[0]
	data := append([]byte{m.Data[0] ^ 1}, m.Data[1:]...)
	w.server.Inject(&nats.Msg{Subject: m.Subject(), Header: m.NATSHeader(), Data: data})
}

const run = 0x5eed

// made are the messages made before: worlds are many, and these are few.
var made sync.Map //nolint:gochecknoglobals // what it holds is the same for all

type madeKey struct {
	step, generation uint32
	content, epoch   uint64
}

// messagesFor are the messages of the content of a step: of two kinds, in three batches.
func messagesFor(step uint32, content uint64, generation uint32, epoch uint64) []schemas.Message {
	key := madeKey{step, generation, content, epoch}
	if have, ok := made.Load(key); ok {
		return have.([]schemas.Message)
	}
	var messages []schemas.Message
	for batch := range uint64(2) {
		id := schemas.Identity{RunID: run, Rank: rank, Epoch: epoch, Batch: batch}
		rows := schemas.NewBuilder[schemas.HeartbeatRow]()
		for seq := range uint64(2) {
			rows.Append(&schemas.HeartbeatRow{RunID: run, Rank: rank, Epoch: epoch, Batch: batch, EventTimeNs: 1, Step: step, Seq: seq, OpID: content})
		}
		messages = append(messages, packed(rows.Message(id)))
	}
	rows := schemas.NewBuilder[schemas.StepRow]()
	rows.Append(&schemas.StepRow{RunID: run, Rank: rank, Epoch: epoch, EventTimeNs: 1, Step: step, Generation: generation, ProgramID: content})
	messages = append(messages, packed(rows.Message(schemas.Identity{RunID: run, Rank: rank, Epoch: epoch})))
	made.Store(key, messages)
	return messages
}

func packed(m schemas.Message, err error) schemas.Message {
	if err != nil {
		panic(err)
	}
	return m
}

// messagesOf are those that a claim stands for.
func messagesOf(key string, s source) []schemas.Message {
	words := strings.Split(key, ".")
	step, _ := strconv.ParseUint(words[len(words)-1], 10, 32)
	content, err := schemas.ParseID(s.Content)
	if err != nil {
		panic(fmt.Sprintf("claim %s: %v", key, err))
	}
	return messagesFor(uint32(step), content, s.Generation, schemas.FileEpoch(content, uint32(step), s.Generation))
}
