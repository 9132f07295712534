package msprobeoverflow_test

import (
	"strings"
	"testing"

	"github.com/tensortap/tensortap/analysis/msprobe/msprobeoverflow"
)

func TestPutTakesKeysThatAreNoPlaces(t *testing.T) {
	t.Parallel()
	root := msprobeoverflow.Object()
	for _, path := range []string{"k.-1.x", "k.7.x", "k.word.x", "plain"} {
		root.Put(path, msprobeoverflow.Text(path))
	}
	var text strings.Builder
	if err := msprobeoverflow.Write(&text, root); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"k.-1.x"`, `"k.7.x"`, `"k.word.x"`, `"plain": "plain"`} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("written object = %s, want %s in it", text.String(), want)
		}
	}
}
