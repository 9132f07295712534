package processes

import (
	"os"
	"testing"
)

func TestWhatAProcessTakesIsRead(t *testing.T) {
	t.Parallel()
	if own := Figures(os.Getpid()); own["memory MB"] < 1 || own["threads"] < 1 || own["descriptors"] < 1 {
		t.Errorf("this process takes %v", own)
	}
	if none := Figures(1 << 30); len(none) > 0 {
		t.Errorf("no process takes %v", none)
	}
}
