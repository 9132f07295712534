package report

import (
	"math"
	"strconv"
	"testing"
)

func TestAHangIsToldInOneSentence(t *testing.T) {
	t.Parallel()
	columns := []string{"process_group", "group_seq", "name", "problem", "missing_ranks", "waiting_ranks", "different", "waited_seconds", "missing_are", "user_frame"}
	for _, c := range []struct {
		row  []string
		want string
	}{
		{
			[]string{"tp [0-2]", "3", "all_reduce", "not arrived", "2", "0 1", "", "27.4", "rank 2: running in step 4, last call 2 all_reduce", "File /home/train.py, line 12, in step, \n x"},
			"rank 2 did not come to all_reduce, call 3 of group tp [0-2]; waiting for 27 s: ranks 0 1, in /home/train.py, line 12, in step; rank 2: running in step 4, last call 2 all_reduce",
		},
		{
			[]string{"tp [0-2]", "3", "all_reduce", "other call", "", "", "rank 1: broadcast", "", "", ""},
			"ranks differ in all_reduce, call 3 of group tp [0-2]: rank 1: broadcast",
		},
		{
			[]string{"tp [0-2]", "3", "barrier", "not complete", "", "0 1 2", "", "11", "", ""},
			"barrier, call 3 of group tp [0-2] is not complete at ranks 0 1 2 for 11 s, though all came",
		},
	} {
		table := Table{Columns: columns, Rows: [][]Value{nil}}
		for _, text := range c.row {
			number, err := strconv.ParseFloat(text, 64)
			if err != nil {
				number = math.NaN()
			}
			table.Rows[0] = append(table.Rows[0], Value{Exact: text, Number: number})
		}
		got := Hangs(table)
		if len(got) != 1 || got[0].Sentence != c.want {
			t.Errorf("got  %+v\nwant %s", got, c.want)
		}
	}
}
