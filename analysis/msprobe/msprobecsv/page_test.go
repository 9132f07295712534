package msprobecsv_test

import (
	"fmt"
	"strings"
)

const pageHead = `<!-- Written by go test ./analysis/msprobe/msprobecsv -update. DO NOT EDIT. -->
# Parity with msProbe

` + "`tensortap compare PROBLEM BENCH --output msprobe-csv`" + ` writes what ` + "`msprobe compare`" + ` of msProbe 26.2.0 writes: the same rows in the same
order, the same columns, the same texts. The test behind this page compares every cell of the files below, which msProbe wrote,
with ours. A row counts as the same when all its cells are: texts exactly, numbers to a millionth of their value. The last column
says whether the whole file is the same, byte by byte.

The made_* dumps were made, not recorded, and msProbe itself compared them. They hold each kind of value and of difference in
msProbe's rules.

| file | mode | rows | pass | warning | error | same rows | same bytes |
|---|---|---|---|---|---|---|---|
`

const pageTail = `
## Differences

* B20_tensor_problem and other raw tensors: msProbe adds up the squares of a Euclidean distance in another order, so that its last
  digit may differ.
* Not shown by any of these files: an integer statistic beyond 2^53 is kept as a 64-bit float, and printed as that.
* msProbe puts the time of writing into the names of its files, we the step.

## msProbe's result by kind of difference

The rules are msProbe's own. This is msProbe's result for each kind of difference:

| case | msProbe |
|---|---|
`

// pageOf is the page that the results make.
func pageOf(results []result) string {
	var b strings.Builder
	b.WriteString(pageHead)
	var all result
	all.byResult = map[string]int{}
	same := 0
	for _, r := range results {
		bytes := "no"
		if r.sameBytes {
			bytes = "yes"
			same++
		}
		fmt.Fprintf(&b, "| %s | %s | %d | %d | %d | %d | %d | %s |\n", r.name, r.mode(), r.rows, r.byResult["pass"], r.byResult["warning"], r.byResult["error"], r.matched, bytes)
		all.rows, all.matched = all.rows+r.rows, all.matched+r.matched
		for word, count := range r.byResult {
			all.byResult[word] += count
		}
	}
	fmt.Fprintf(&b, "| all | | %d | %d | %d | %d | %d | %d of %d |\n", all.rows, all.byResult["pass"], all.byResult["warning"], all.byResult["error"], all.matched, same, len(results))
	b.WriteString(pageTail)
	for _, c := range overlooked() {
		fmt.Fprintf(&b, "| %s | %s |\n", c.what, c.result)
	}
	return b.String()
}

// mode is what was recorded, by the columns.
func (r *result) mode() string {
	switch joined := strings.Join(r.wanted, ","); {
	case strings.Contains(joined, "MD5"):
		return "md5"
	case strings.Contains(joined, "Cosine"):
		return "tensor"
	}
	return "statistics"
}
