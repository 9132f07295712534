package cases

import (
	"fmt"
	"reflect"
	"strconv"
)

func setNumber(field reflect.Value, text string) error {
	switch {
	case field.CanUint():
		number, err := strconv.ParseUint(text, 10, 64)
		field.SetUint(number)
		return err
	case field.CanInt():
		number, err := strconv.ParseInt(text, 10, 64)
		field.SetInt(number)
		return err
	case field.CanFloat():
		number, err := strconv.ParseFloat(text, 64)
		field.SetFloat(number)
		return err
	}
	return fmt.Errorf("no column takes %q", text)
}
