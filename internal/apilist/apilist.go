// Package apilist checks a file that says which APIs are recorded, in the form of msProbe's support_wrap_ops.yaml. The
// collector, in Python, reads the same text (_config/api_list.py).
package apilist

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
)

// Check says what is wrong with a file, by its line. A file that it takes the collector takes, too.
func Check(path string) error {
	text, err := os.ReadFile(path) //nolint:gosec // the file that the user named
	if err != nil {
		return err
	}
	if strings.HasPrefix(strings.TrimSpace(string(text)), "{") {
		err = checkJSON(text)
	} else {
		err = checkYAML(string(text))
	}
	if err != nil {
		return fmt.Errorf("read %s: %w", path, err)
	}
	return nil
}

func checkJSON(text []byte) error {
	var groups map[string]any
	if err := json.Unmarshal(text, &groups); err != nil {
		return err
	}
	for group, value := range groups {
		names, isList := value.([]any)
		if !isList {
			return fmt.Errorf("group %s is no list of names", group)
		}
		for _, name := range names {
			if err := checkNames(group, fmt.Sprint(name)); err != nil {
				return err
			}
		}
		if err := checkNames(group); err != nil {
			return err
		}
	}
	return nil
}

func checkYAML(text string) error {
	group, number := "", 0
	for line := range strings.Lines(text) {
		number++
		bare, _, _ := strings.Cut(line, "#")
		if bare = strings.TrimSpace(bare); bare == "" || bare == "---" || bare == "..." {
			continue
		}
		names, err := namesIn(bare, &group)
		if err == nil {
			err = checkNames(group, names...)
		}
		if err != nil {
			return fmt.Errorf("line %d: %w", number, err)
		}
	}
	return nil
}

// namesIn are those of a line, which may begin a group.
func namesIn(line string, group *string) ([]string, error) {
	begins := regexp.MustCompile(`^([A-Za-z_][\pL\pN_]*)\s*:\s*(.*)$`).FindStringSubmatch(line)
	name, isName := strings.CutPrefix(line, "- ")
	switch {
	case begins != nil:
		*group = begins[1]
		return inline(begins[2])
	case isName && *group != "":
		return []string{plain(name)}, nil
	}
	return nil, errors.New("want a group as functional: or a name as - softmax")
}

// inline are the names of a list in brackets, or none.
func inline(text string) (names []string, err error) {
	if text == "" {
		return nil, nil
	}
	inner, opens := strings.CutPrefix(text, "[")
	inner, closes := strings.CutSuffix(inner, "]")
	if !opens || !closes {
		return nil, fmt.Errorf("%q is no list of names", text)
	}
	for name := range strings.SplitSeq(inner, ",") {
		if strings.TrimSpace(name) != "" {
			names = append(names, plain(name))
		}
	}
	return names, nil
}

func plain(name string) string { return strings.Trim(strings.TrimSpace(name), `"'`) }

func checkNames(group string, names ...string) error {
	known := []string{"functional", "tensor", "torch", "_VF"}
	if slices.Contains([]string{"torch_npu", "aten", "distributed", "npu_distributed", "mindspeed", "mindspeed_custom"}, group) {
		return nil // of other devices, or recorded always
	}
	if !slices.Contains(known, group) {
		return fmt.Errorf("unknown group %s; known are %s", group, strings.Join(known, ", "))
	}
	for _, name := range names {
		if !regexp.MustCompile(`^[+-]?[A-Za-z_][\pL\pN_.]*$`).MatchString(name) {
			return fmt.Errorf("%q is no name of an API", name)
		}
	}
	return nil
}
