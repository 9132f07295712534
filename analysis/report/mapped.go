package report

import (
	"fmt"
	"math"
	"strings"
)

// Mapped is what was compared of two implementations of one model, under a map.
type Mapped struct {
	Name          string     `json:"name"`           // as `llama: vllm ↔ transformers`, or the file
	ByName        uint64     `json:"by_name"`        // pairs of tensors of modules with one name
	Joined        uint64     `json:"joined"`         // of which one is in parts
	Streams       uint64     `json:"streams"`        // residual streams, which one run adds up elsewhere
	Parts         [][]string `json:"parts"`          // what was joined, as q_proj, k_proj, v_proj
	NotComparable []Apart    `json:"not_comparable"` // the most first
	Noise         *Noise     `json:"noise"`          // expected of two right implementations; null where a tolerance was given
}

// Noise is the greatest relative error that rounding alone is expected to make.
type Noise struct {
	Dtype  string  `json:"dtype"`
	Layers int32   `json:"layers"`
	Error  float64 `json:"error"`
}

// words is the noise in a sentence.
func (n *Noise) words() string {
	return fmt.Sprintf("rounding in %s makes relative errors of up to %.2g in the first layer, %.2g behind all %d", Printable(n.Dtype),
		n.Error/math.Sqrt(float64(max(n.Layers, 1))), n.Error, n.Layers)
}

// Apart counts tensors and arguments that cannot be compared.
type Apart struct {
	Reason string `json:"reason"`
	Count  uint64 `json:"count"`
}

// words is what was compared, in a sentence.
func (m *Mapped) words() string {
	text := fmt.Sprintf("%s tensors by name, %s joined%s, %s residual streams", thousands(m.ByName), thousands(m.Joined), m.joined(), thousands(m.Streams))
	if len(m.NotComparable) == 0 {
		return text
	}
	apart := make([]string, len(m.NotComparable))
	for i, a := range m.NotComparable {
		apart[i] = thousands(a.Count) + " " + Printable(a.Reason)
	}
	return text + "; not comparable: " + strings.Join(apart, ", ")
}

// joined names the parts without the end that all of them share, as (q, k, v; gate, up).
func (m *Mapped) joined() string {
	lists := make([]string, len(m.Parts))
	for i, parts := range m.Parts {
		short := make([]string, len(parts))
		for k, part := range parts {
			short[k] = Printable(strings.TrimSuffix(part, "_proj"))
		}
		lists[i] = strings.Join(short, ", ")
	}
	if len(lists) == 0 {
		return ""
	}
	return " (" + strings.Join(lists, "; ") + ")"
}
