package report

import (
	"fmt"
	"math"
	"strings"

	"github.com/tensortap/tensortap/schemas"
)

// layers draws the greatest error of each layer as a bar, by powers of ten.
func (n *note) layers() {
	if n.Summary.Sum("differing_count") == 0 {
		return
	}
	const most = 12
	every := (len(n.Layers.Rows) + most - 1) / most
	label := "by layer"
	if step := n.Layers.Get(0, "step"); len(n.Layers.Rows) > 0 && !step.Null {
		n.line(label, "greatest relative error in step %s, the first that differs; a block for each power of ten from 1e-8 on", step.Text())
		label = ""
	}
	for i := range n.Layers.Rows {
		if i%max(every, 1) != 0 {
			continue
		}
		direction, layer := n.Layers.Get(i, "direction").Text(), n.Layers.Get(i, "layer").Text()
		switch layer {
		case schemas.OptimizerName:
			direction = "" // it is after both
		case "", "-":
			layer = "(no layer)"
		}
		n.line(label, "%-8s %-24s %-10s %s", direction, layer, n.layerBar(i), n.layerWords(i))
		label = ""
	}
	if every > 1 {
		n.line("", "every %s layer; all: %s report layers", ordinal(every), n.style.program())
	}
}

func (n *note) layerWords(i int) string {
	greatest, bad := n.Layers.Get(i, "greatest_error"), n.Layers.Get(i, "not_finite_count").Number
	words := greatest.Text()
	if bad > 0 && greatest.Null {
		words = "not finite"
	}
	if differing := n.Layers.Get(i, "differing_count").Number; differing > 0 {
		words += fmt.Sprintf(", %s differ", thousands(uint64(differing)))
	}
	if bad > 0 {
		words += fmt.Sprintf(", %s not finite", thousands(uint64(bad)))
	}
	return words
}

// layerBar is the bar of a layer: the longest where NaN or infinity differs.
func (n *note) layerBar(i int) string {
	if n.Layers.Get(i, "not_finite_count").Number > 0 {
		return bar(math.Inf(1))
	}
	return bar(n.Layers.Get(i, "greatest_error").Number)
}

// bar is one block for each power of ten from 1e-8 on.
func bar(err float64) string {
	if err <= 0 || math.IsNaN(err) {
		return ""
	}
	return strings.Repeat("█", int(max(1, min(9, math.Ceil(math.Log10(err)+9)))))
}

func ordinal(n int) string {
	switch n {
	case 2:
		return "2nd"
	case 3:
		return "3rd"
	}
	return fmt.Sprintf("%dth", n)
}
