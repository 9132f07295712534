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

// The speed of the comparison of the log-probabilities of a trainer and its rollout, of a million tokens each in 500 steps, with checksums of 300 parameters
// after each update and the rows of 200 modules.
func BenchmarkLogprobsOverAMillionTokens(b *testing.B) {
	database := startDatabase(b)
	for _, run := range []string{"problem", "bench"} {
		of := map[string]string{"run": run}
		database.Query(b, `INSERT INTO tap_store.token (run_id, rank, epoch, step, seq, global_step, prompt_hash, sample, position, token_id, log_probability, weights_version)
			SELECT xxh3(concat({run:String}, char(31))), 0, 5, intDiv(number, 2000), number, intDiv(number, 2000), intHash64(intDiv(number, 100)), 0, number % 100, number % 32000, -1 - number % 7 / 8 - if({run:String} = 'problem' AND number >= 500000, 0.25, 0), intDiv(number, 2000)
			FROM numbers(1000000)`, "", of)
		database.Query(b, `INSERT INTO tap_store.weight (run_id, rank, epoch, step, seq, version, name, checksum, description)
			SELECT xxh3(concat({run:String}, char(31))), 0, 5, intDiv(number, 300), number, intDiv(number, 300), concat('layers.', toString(number % 300), '.weight'), if({run:String} = 'problem' AND number > 75000, 1, number), 'float32[2, 2]'
			FROM numbers(150000)`, "", of)
		database.Query(b, `INSERT INTO tap_store.tensor (run_id, rank, epoch, step, seq, site_id, layout_id, measured, element_count)
			SELECT xxh3(concat({run:String}, char(31))), 0, 5, intDiv(number, 200), number % 200, number % 200, 1, 1, 8
			FROM numbers(100000)`, "", of)
	}
	database.Query(b, `INSERT INTO tap_store.layout (layout_id, kind, dtype) VALUES (1, 'tensor', 'torch.float32')`, "", nil)
	database.Query(b, `INSERT INTO tap_store.site (site_id, op_id, role, path) SELECT number, number, 'output', '0' FROM numbers(20000)`, "", nil)
	database.Query(b, `INSERT INTO tap_store.op (op_id, name, level, module_path, phase) SELECT number, concat('Module.', toString(number)), 'module', concat('layers.', toString(number)), 'forward' FROM numbers(20000)`, "", nil)
	report, err := sql.ReportByName("logprobs")
	if err != nil {
		b.Fatal(err)
	}
	e := example{object: report, archive: &txtar.Archive{}}
	for b.Loop() {
		if answer := database.ask(b, report, e.parameters()); strings.Count(answer, "\tdrifts\t") != 250 {
			b.Fatalf("the report answered\n%.2000s", answer)
		}
	}
}
