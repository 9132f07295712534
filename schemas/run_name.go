package schemas

import (
	"errors"
	"fmt"
	"unicode/utf8"
)

// longestRunName bounds the name of a run, in characters.
const longestRunName = 200

// CheckRunName says why a new run may not have this name; its caller names the name.
func CheckRunName(name string) error {
	switch n := utf8.RuneCountInString(name); {
	case !utf8.ValidString(name):
		return errors.New("it is not UTF-8")
	case n < 1 || n > longestRunName:
		return fmt.Errorf("it has %d characters, want 1 to %d", n, longestRunName)
	}
	return nil
}
