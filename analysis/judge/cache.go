package judge

import (
	"maps"
	"sync"
	"sync/atomic"
)

// cache remembers values by key. Reading takes no lock, once as many reads as there are keys have missed: sites are read
// by all goroutines, again and again, and found once.
type cache[K comparable, V any] struct {
	settled atomic.Pointer[map[K]*V] // never written to
	mutex   sync.Mutex
	fresh   map[K]*V
	misses  int
}

// get is nil where the key has no value.
func (c *cache[K, V]) get(key K) *V {
	settled := c.settled.Load()
	if settled != nil {
		if v, ok := (*settled)[key]; ok {
			return v
		}
	}
	c.mutex.Lock()
	defer c.mutex.Unlock()
	v := c.fresh[key]
	if v != nil {
		c.missed()
	}
	return v
}

// put gives the value of a key: the first one put.
func (c *cache[K, V]) put(key K, value V) *V {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if v, ok := c.fresh[key]; ok {
		return v
	}
	if c.fresh == nil {
		c.fresh = map[K]*V{}
	}
	c.fresh[key] = &value
	return &value
}

// missed publishes the fresh values once the locked reads would have paid for the copy.
func (c *cache[K, V]) missed() {
	c.misses++
	if c.misses < len(c.fresh) {
		return
	}
	settled := maps.Clone(c.fresh)
	c.settled.Store(&settled)
	c.misses = 0
}
