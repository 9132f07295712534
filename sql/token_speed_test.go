package sql_test

import (
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/tensortap/tensortap/sql"
)

// The speed of the comparison of two runs of 77,000 tokens at 65 places each: 10 million stored rows. Half-way up the layers one token in a hundred begins to differ.
func BenchmarkTokensOverTenMillionRows(b *testing.B) {
	database := startDatabase(b)
	for _, run := range []string{"problem", "bench"} {
		database.Query(b, `INSERT INTO tap_store.token_site (run_id, rank, epoch, step, prompt_hash, sample, position, layer, place, row_count, norm_bits, sum_0)
			SELECT xxh3(concat({run:String}, char(31))), 0, 5, 0, intHash64(intDiv(number % 77000, 512)), 0, number % 77000 % 512, intDiv(number, 77000), 4, 512, 1073741824, rand(1) % 2 + if({run:String} = 'problem' AND number >= 2502500 AND number % 77000 % 100 = 0, 4096, 0)
			FROM numbers(5005000)`, "", map[string]string{"run": run})
	}
	report, err := sql.ReportByName("tokens")
	if err != nil {
		b.Fatal(err)
	}
	e := example{object: report, archive: &txtar.Archive{}}
	for b.Loop() {
		if answer := database.ask(b, report, e.parameters()); strings.Count(answer, "\n") < 65 {
			b.Fatalf("the report over ten million rows answered\n%s", answer)
		}
	}
}
