package program

import (
	"regexp"
	"testing"
)

// StartServe runs `tensortap serve` beside a system, and returns the address of its page.
func StartServe(tb testing.TB, u *Up, args ...string) string {
	tb.Helper()
	serve := NewUp(u.Data, Command(tb, Setting{Data: u.Data}, append([]string{"serve", "--listen", "127.0.0.1:0"}, args...)...))
	if err := serve.Begin(); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := serve.Stop(); err != nil {
			tb.Error(err)
		}
	})
	var found []string
	err := Await(Patience, "the page", func() bool {
		found = regexp.MustCompile(`serves the page at (http://\S+/),`).FindStringSubmatch(serve.Stdout.String())
		return found != nil
	})
	if err != nil {
		tb.Fatalf("%v\n%s%s", err, serve.Stdout, serve.Stderr)
	}
	return found[1]
}
