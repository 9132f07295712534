package sql_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// measuredTensor is what a rank reports of the elements of a tensor.
type measuredTensor struct {
	shape                             []int
	least, greatest                   float64
	mean, m2, l2, l1                  float64
	nans, positives, negatives, zeros int
}

func measureTensor(shape []int, elements []float64) measuredTensor {
	m := measuredTensor{shape: shape, least: math.Inf(1), greatest: math.Inf(-1)}
	var finite []float64
	for _, v := range elements {
		switch {
		case math.IsNaN(v):
			m.nans++
		case math.IsInf(v, 1):
			m.positives++
		case math.IsInf(v, -1):
			m.negatives++
		default:
			finite = append(finite, v)
		}
	}
	var squares float64
	for _, v := range finite {
		m.least, m.greatest = min(m.least, v), max(m.greatest, v)
		m.mean += v / float64(len(finite))
		squares += v * v
		m.l1 += math.Abs(v)
		if v == 0 {
			m.zeros++
		}
	}
	for _, v := range finite {
		m.m2 += (v - m.mean) * (v - m.mean)
	}
	m.l2 = math.Sqrt(squares)
	return m
}

// splitTensor is what the ranks hold of a tensor of rows and columns that is cut at these places of one dimension.
func splitTensor(elements []float64, rows, columns, dimension int, cuts []int) (parts []measuredTensor) {
	for i := range len(cuts) - 1 {
		var part []float64
		for at, v := range elements {
			if along := [2]int{at / columns, at % columns}[dimension]; along >= cuts[i] && along < cuts[i+1] {
				part = append(part, v)
			}
		}
		shape := []int{rows, columns}
		shape[dimension] = cuts[i+1] - cuts[i]
		parts = append(parts, measureTensor(shape, part))
	}
	return parts
}

// randomTensor has elements of any size, around any mean, some of them 0 or not finite.
func randomTensor(random *rand.Rand, count int) []float64 {
	elements := make([]float64, count)
	mean, deviation := 1000*random.NormFloat64(), math.Exp(4*random.NormFloat64())
	for i := range elements {
		elements[i] = mean + deviation*random.NormFloat64()
		switch random.IntN(20) {
		case 0:
			elements[i] = 0
		case 1:
			elements[i] = []float64{math.NaN(), math.Inf(1), math.Inf(-1)}[random.IntN(3)]
		}
	}
	return elements
}

// tensorTables gathers rows of two runs: three ranks of the problem, one of the bench.
type tensorTables struct{ layouts, tensors strings.Builder }

func (t *tensorTables) add(run string, rank, site int, m measuredTensor) {
	layout := 1000*site + 10*rank + len(run)
	shape := strings.ReplaceAll(fmt.Sprint(m.shape), " ", ",")
	fmt.Fprintf(&t.layouts, "%d\ttensor\ttorch.float64\t%s\n", layout, shape)
	fmt.Fprintf(&t.tensors, "(run %s)\t%d\t5\t0\t2000\t0\t%d\t(site op%d output 0)\t%d\t1023\t%d\t%s\t%s\t%s\t%s\t%s\t%s\t%d\t%d\t%d\t%d\n", run, rank, site, site, layout,
		m.shape[0]*m.shape[1], exactly(m.least), exactly(m.greatest), exactly(m.mean), exactly(m.m2), exactly(m.l2), exactly(m.l1), m.nans, m.positives, m.negatives, m.zeros)
}

func exactly(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }

func (t *tensorTables) files(sites int) map[string]string {
	steps := "run_id\trank\tepoch\tbatch\tevent_time_ns\tstep\tprogram_id\top_count\ttensor_count\tcomplete\n"
	ranks := "run_id\trank\tepoch\ttp\ttp_size\n"
	for rank := range 3 {
		steps += fmt.Sprintf("(run problem)\t%d\t5\t0\t2000\t0\t9\t1\t%d\t1\n", rank, sites)
		ranks += fmt.Sprintf("(run problem)\t%d\t5\t%d\t3\n", rank, rank)
	}
	steps += fmt.Sprintf("(run bench)\t0\t5\t0\t2000\t0\t9\t1\t%d\t1\n", sites)
	return map[string]string{
		"run":    "run_id\tepoch\tname\n(run problem)\t1\tproblem\n(run bench)\t1\tbench\n",
		"rank":   ranks + "(run bench)\t0\t5\t0\t1\n",
		"step":   steps,
		"layout": "layout_id\tkind\tdtype\tshape\n" + t.layouts.String(),
		"tensor": "run_id\trank\tepoch\tbatch\tevent_time_ns\tstep\tseq\tsite_id\tlayout_id\tmeasured\telement_count\tvalue_min\tvalue_max\tvalue_mean\tvalue_m2\tvalue_l2\tvalue_l1\tnan_count\tpositive_infinity_count\tnegative_infinity_count\tzero_count\n" + t.tensors.String(),
	}
}

func TestStatisticsOfShardsMergeToThoseOfTheWhole(t *testing.T) {
	t.Parallel()
	database := startDatabase(t)
	random := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // the same tensors every time
	const tensors = 200
	var tables tensorTables
	var wants []measuredTensor
	for site := range tensors {
		rows, columns, dimension := 3+random.IntN(30), 3+random.IntN(30), random.IntN(2)
		size := [2]int{rows, columns}[dimension]
		cuts := []int{0, 1 + random.IntN(size-2), size}
		cuts = slices.Insert(cuts, 2, cuts[1]+1+random.IntN(size-1-cuts[1])) // three parts, none empty
		elements := randomTensor(random, rows*columns)
		for rank, part := range splitTensor(elements, rows, columns, dimension, cuts) {
			tables.add("problem", rank, site, part)
		}
		wants = append(wants, measureTensor([]int{rows, columns}, elements))
		tables.add("bench", 0, site, wants[site])
	}
	database.load(t, tables.files(tensors))
	answer := database.Query(t, `SELECT seq, sort = 'shards', toString(whole_shape), value_min, value_max, value_mean, value_m2, value_l2, value_l1,
			nan_count, positive_infinity_count, negative_infinity_count, zero_count
		FROM tap.merged_tensors(problem = 'problem', bench = 'bench', side = 'problem', problem_whole_world = 0, bench_whole_world = 0, first_step = 0, last_step = -1, step_offset = 0)
		ORDER BY seq`, "", nil)
	lines := strings.Split(strings.TrimSpace(answer), "\n")
	if len(lines) != tensors {
		t.Fatalf("%d tensors were merged, want %d:\n%s", len(lines), tensors, answer)
	}
	for i, line := range lines {
		wants[i].check(t, strings.Split(line, "\t"))
	}
}

// check holds a row of the query against what was measured of the whole.
func (m measuredTensor) check(t *testing.T, got []string) {
	t.Helper()
	words := append(got[1:3:3], got[9:]...)
	want := []string{"1", strings.ReplaceAll(fmt.Sprint(m.shape), " ", ","), strconv.Itoa(m.nans), strconv.Itoa(m.positives), strconv.Itoa(m.negatives), strconv.Itoa(m.zeros)}
	if !slices.Equal(words, want) {
		t.Errorf("tensor %s merged to %q, want %q", got[0], words, want)
	}
	for i, want := range []float64{m.least, m.greatest, m.mean, m.m2, m.l2, m.l1} {
		// The mean of values around 0 is a difference of larger ones.
		scale := max(math.Abs(want), m.l2/math.Sqrt(float64(m.shape[0]*m.shape[1])))
		if v, err := strconv.ParseFloat(got[3+i], 64); err != nil || math.Abs(v-want) > 1e-12*scale {
			t.Errorf("tensor %s, statistic %d: %s, of the whole %g", got[0], i, got[3+i], want)
		}
	}
}
