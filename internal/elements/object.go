package elements

import (
	"encoding/json"
	"math"
	"strconv"
)

// numeral is a number as JSON: what is not finite is text.
type numeral float64

// MarshalJSON implements json.Marshaler.
func (n numeral) MarshalJSON() ([]byte, error) {
	switch value := float64(n); {
	case math.IsNaN(value):
		return []byte(`"NaN"`), nil
	case math.IsInf(value, 1):
		return []byte(`"Infinity"`), nil
	case math.IsInf(value, -1):
		return []byte(`"-Infinity"`), nil
	default:
		return strconv.AppendFloat(nil, value, 'g', -1, 64), nil
	}
}

type object = map[string]any

// MarshalJSON implements json.Marshaler.
func (l *Look) MarshalJSON() ([]byte, error) {
	all := l.object()
	all["bytes"] = l.Bytes()
	kinds := object{}
	for kind := range l.NotFinite {
		kinds[Kind(kind).String()] = l.NotFinite[kind].object()
	}
	greatest := []object{}
	for _, one := range l.Greatest {
		greatest = append(greatest, object{"index": one.Index, "value": one.Text})
	}
	all["not_finite"], all["greatest"], all["histogram"] = kinds, greatest, binObjects(l.Histogram)
	return json.Marshal(all)
}

func (s *Side) object() object {
	of := &s.Statistics
	all := object{
		"name": s.Name, "dtype": s.Dtype.String(), "shape": append([]int64{}, s.Shape...), "elements": of.Count, "finite": of.Finite, "nan": of.NaN,
		"positive_infinity": of.PositiveInfinity, "negative_infinity": of.NegativeInfinity, "zero": of.Zero, "subnormal": of.Subnormal,
	}
	if of.Finite > 0 {
		all["min"], all["max"], all["mean"] = numeral(of.Min), numeral(of.Max), numeral(of.Mean)
		all["std"], all["l1"], all["l2"] = numeral(math.Sqrt(of.M2/float64(of.Finite))), numeral(of.L1), numeral(of.L2())
	}
	return all
}

func (p *Places) object() object {
	return object{"count": p.Count, "first": append([][]int64{}, p.First...)}
}

func binObjects(bins []Bin) []object {
	all := []object{}
	for _, bin := range bins {
		all = append(all, object{"from": numeral(bin.From), "to": numeral(bin.To), "count": bin.Count})
	}
	return all
}

// MarshalJSON implements json.Marshaler.
func (d *Difference) MarshalJSON() ([]byte, error) {
	verdict := "differs"
	if d.Same {
		verdict = "same"
	}
	distance := object{}
	for _, one := range numbers(&d.Distance) {
		distance[one.name] = nil
		if one.value != nil {
			distance[one.name] = numeral(*one.value)
		}
	}
	return json.Marshal(object{
		"verdict": verdict, "said": d.Result(), "where": d.Where, "how": d.How, "sampled": d.Sampled,
		"elements": d.Compared, "changed": d.Changed, "beyond": d.Beyond, "within": numeral(d.Within),
		"problem": d.Problem.object(), "bench": d.Bench.object(), "distance": distance, "message": d.Distance.Message,
		"axes": d.axisObjects(), "not_finite": d.mismatchObjects(), "worst": d.worstObjects(), "histogram": binObjects(d.Histogram),
	})
}

func (d *Difference) axisObjects() []object {
	all := []object{}
	for _, a := range d.Axes {
		ranges := [][2]int64{}
		for _, r := range a.Ranges {
			ranges = append(ranges, [2]int64{r.First, r.Last})
		}
		all = append(all, object{"size": a.Size, "differ": a.Differ, "group": a.Group, "ranges": ranges, "more_ranges": a.Parts - len(ranges)})
	}
	return all
}

func (d *Difference) mismatchObjects() object {
	all := object{}
	for kind := range d.NotFinite {
		m := &d.NotFinite[kind]
		all[Kind(kind).String()] = object{"problem_alone": m.Problem.object(), "bench_alone": m.Bench.object()}
	}
	return all
}

func (d *Difference) worstObjects() []object {
	all := []object{}
	for _, p := range d.Worst {
		all = append(all, object{"index": p.Index, "problem": p.Problem, "bench": p.Bench, "difference": numeral(p.Apart), "relative": numeral(p.Relative)})
	}
	return all
}
