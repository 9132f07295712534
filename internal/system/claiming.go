package system

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"github.com/tensortap/tensortap/pipelines"
	"github.com/tensortap/tensortap/producers"
	"github.com/tensortap/tensortap/schemas"
)

// claimsAtOnce is how many claims wait for the stream at a time: each is written to the disk there.
const claimsAtOnce = 16

// claimEach calls do for each of n claims, some at a time. After an error it begins no more; of several errors it
// returns that of the first claim in order.
func claimEach(n int, do func(i int) error) error {
	var (
		group  errgroup.Group
		failed atomic.Bool
	)
	group.SetLimit(claimsAtOnce)
	all := make([]error, n)
	for i := 0; i < n && !failed.Load(); i++ {
		group.Go(func() error {
			if all[i] = do(i); all[i] != nil {
				failed.Store(true)
			}
			return nil
		})
	}
	_ = group.Wait() // no member fails
	for _, err := range all {
		if err != nil {
			return err
		}
	}
	return nil
}

// open claims every dump before a row of any is published, so that other
// content is refused as a whole.
func (p *publishing) open(ctx context.Context) error {
	err := p.patiently(ctx, func() (err error) {
		if err := pipelines.RefuseClosed(ctx, p.client.stream, schemas.RunID(p.request.Run)); err != nil {
			return err
		}
		p.bucket, err = pipelines.OpenClaims(ctx, p.client.stream)
		return err
	})
	if err != nil {
		return err
	}
	sources, claims := make([]producers.Source, len(p.found.Dumps)), make([]pipelines.Claim, len(p.found.Dumps))
	err = claimEach(len(claims), func(i int) (err error) {
		sources[i], claims[i], err = p.claim(ctx, p.found.Dumps[i])
		return err
	})
	if err != nil {
		return err
	}
	if err := p.renew(ctx, sources, claims); err != nil {
		return err
	}
	p.epochs = map[uint64]bool{}
	for i := range claims {
		p.epochs[claims[i].Epoch] = true
	}
	var before published
	for i, claim := range claims {
		if claim.Done && p.found.Dumps[i].Beside {
			p.result.Already++
			continue
		}
		if claim.Done {
			before.sources, before.claims = append(before.sources, sources[i]), append(before.claims, claim)
			continue
		}
		p.sources, p.claims = append(p.sources, sources[i]), append(p.claims, claim)
		p.all += sources[i].Bytes
	}
	if len(before.claims) > 0 {
		p.again(ctx, before)
	}
	return nil
}

func (p *publishing) claim(ctx context.Context, dump producers.Dump) (producers.Source, pipelines.Claim, error) {
	source, err := dump.Open(p.request.Run, p.reader())
	if err != nil {
		return source, pipelines.Claim{}, err
	}
	want := pipelines.ClaimRequest{
		RunID: schemas.RunID(p.request.Run), Rank: dump.Rank, Step: dump.Step,
		Content: source.Digest, EventTimeNs: dump.ModTimeNs, Replace: p.request.Replace, Beside: dump.Beside,
	}
	var claim pipelines.Claim
	err = p.patiently(ctx, func() error {
		var err error
		claim, err = p.bucket.Make(ctx, want)
		return err
	})
	if errors.Is(err, pipelines.ErrOtherContent) {
		return source, claim, fmt.Errorf("step %d of rank %d holds other content: %s differs from what was published; "+
			"choose another --run, or --replace what is there", dump.Step, dump.Rank, dump.Dir)
	}
	if err != nil || claim.Done {
		return source, claim, err
	}
	source.Content.Reissue(claim.Epoch, claim.Generation, claim.EventTimeNs)
	return source, claim, nil
}

// finish notes that dumps are published, once the stream has acknowledged all that they became.
func (p *publishing) finish(ctx context.Context, dumps []int) error {
	if len(dumps) == 0 {
		return nil
	}
	if err := p.parcel.send(ctx); err != nil {
		return err
	}
	if err := p.publisher.Flush(ctx); err != nil {
		return err
	}
	return claimEach(len(dumps), func(i int) error {
		return p.patiently(ctx, func() error { return p.bucket.Finish(ctx, p.claims[dumps[i]]) })
	})
}
