package simulated

import (
	"sync"
	_ "unsafe" // for the name below

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/compress/zstd"
)

// timers are those that the NATS client keeps for another use, whichever connection used them.
//
//go:linkname timers github.com/nats-io/nats%2ego.globalTimerPool
var timers struct{ pool sync.Pool } //nolint:gochecknoglobals // it is the client's

// Forget forgets the client's timers and the archive's decoders: what waits in one bubble is good in no other. Only one
// bubble may be at work at a time.
func Forget() {
	timers.pool = sync.Pool{}
	parquet.Zstd = zstd.Codec{}
}
