package strictyaml_test

import (
	"strings"
	"testing"

	"github.com/tensortap/tensortap/internal/strictyaml"
)

func TestParseSaysWhereTheSyntaxIsWrong(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                       "f.yaml: the file is empty",
		"# nothing\n":            "f.yaml: the file is empty",
		"a: [1, 2\nb: 3\n":       "f.yaml:2:",
		"a: 1\n\tb: 2\n":         "f.yaml:2:",
		"a: 1\n---\nb: 2\n":      "second document",
		"a: &x [1]\nb: *y\n":     "f.yaml:2:",
		"a: \"\xff\xfe\"\n":      "f.yaml",
		"a: {b: 1}}\n":           "f.yaml:1:",
		strings.Repeat("[", 2e5): "f.yaml",
	} {
		_, err := strictyaml.Parse("f.yaml", []byte(text))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Parse(%.20q) = %v, want an error with %q", text, err, want)
		}
	}
}

func TestKeysRefusesAnUnknownKeyWithTheNearest(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"name: a\ntolerancx: 1\n": `f.yaml:2:1: key "tolerancx" is not known: is "tolerance" meant?`,
		"step-offset: 1\n":        `is "step_offset" meant?`,
		"nam: a\n":                `is "name" meant?`,
		"zzz: a\n":                `key "zzz" is not known; known are name, tolerance, step_offset`,
		"name: a\nname: b\n":      `f.yaml:2:1: key "name" stands in line 1 already`,
		"[a, b]\n":                `f.yaml:1:1: want keys with values, not a list`,
		"? [a]\n: b\n":            `want text, not a list`,
	} {
		root, err := strictyaml.Parse("f.yaml", []byte(text))
		if err != nil {
			t.Fatalf("Parse(%q) = %v", text, err)
		}
		_, err = root.Keys("name", "tolerance", "step_offset")
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Keys of %q = %v, want an error with %q", text, err, want)
		}
	}
}

func TestValuesSayWhatTheyWant(t *testing.T) {
	t.Parallel()
	root, err := strictyaml.Parse("f.yaml", []byte("a: &x 1\nb: *x\nc: [p, q]\nd:\ne: true\nf: {}\n"))
	if err != nil {
		t.Fatal(err)
	}
	v, err := root.Keys("a", "b", "c", "d", "e", "f")
	if err != nil {
		t.Fatal(err)
	}
	if got, err := v["b"].Int(0, 5); err != nil || got != 1 {
		t.Errorf("Int of an alias = %d, %v, want 1", got, err)
	}
	if got, err := v["c"].Texts(); err != nil || strings.Join(got, "+") != "p+q" {
		t.Errorf("Texts of a list = %q, %v", got, err)
	}
	if got, err := v["e"].Bool(); err != nil || !got {
		t.Errorf("Bool = %v, %v, want true", got, err)
	}
	for name, err := range map[string]error{
		`f.yaml:1:4: want a whole number from 2 to 5, not "1"`: second(v["a"].Int(2, 5)),
		`f.yaml:1:4: want true or false, not "1"`:              second(v["a"].Bool()),
		`f.yaml:3:4: want text, not a list`:                    second(v["c"].Text()),
		`f.yaml:4:3: want text, not nothing`:                   second(v["d"].Text()),
		`f.yaml:6:4: want text, not keys with values`:          second(v["f"].Text()),
		`f.yaml:1:4: want a list, not "1"`:                     second(v["a"].List()),
	} {
		if err == nil || err.Error() != name {
			t.Errorf("got %v, want %s", err, name)
		}
	}
}

func second[T any](_ T, err error) error { return err }

func FuzzParseNeverPanics(f *testing.F) {
	f.Add([]byte("jobs:\n  - {name: a, bench: [b, *c]}\n"))
	f.Add([]byte("a: &a [*a]\n"))
	f.Fuzz(func(_ *testing.T, text []byte) {
		root, err := strictyaml.Parse("f.yaml", text)
		if err != nil {
			return
		}
		fields, err := root.Fields()
		if err != nil {
			return
		}
		for _, field := range fields {
			_, _ = field.Value.Texts()
			_, _ = field.Value.Keys("a")
		}
	})
}
