package speedscope

import (
	"cmp"
	"slices"
)

// Hot is a function, and the share of a profile's time in which it was the innermost.
type Hot struct {
	Name, File string
	Share      float64
}

// Hottest is the functions of a profile in which most time went, the greatest first.
func (f *File) Hottest(p *Profile, most int) []Hot {
	type function struct{ name, file string }
	seconds, all := map[function]float64{}, 0.0
	for i, stack := range p.Samples {
		all += p.Weights[i]
		if len(stack) > 0 {
			frame := f.Shared.Frames[stack[len(stack)-1]]
			seconds[function{frame.Name, frame.File}] += p.Weights[i]
		}
	}
	hot := make([]Hot, 0, len(seconds))
	for at, s := range seconds {
		hot = append(hot, Hot{Name: at.name, File: at.file, Share: s / all})
	}
	slices.SortFunc(hot, func(a, b Hot) int {
		return cmp.Or(cmp.Compare(b.Share, a.Share), cmp.Compare(a.Name, b.Name), cmp.Compare(a.File, b.File))
	})
	return hot[:min(most, len(hot))]
}
