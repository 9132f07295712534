package clickhouse

import (
	"errors"
	"slices"

	"github.com/ClickHouse/clickhouse-go/v2"
)

// refused says whether the server's error is about the rows, so that the same rows would be refused
// again. All other errors mean that the server, the way to it, or the table has to be mended first.
// A column that the table lacks is such an error: the rows are not at fault.
func refused(err error) bool { return hasCode(err, refusals()...) }

// Codes of ClickHouse's ErrorCodes.cpp that stand for one thing each.
const (
	queryWithSameIDIsAlreadyRunning = 216
	noSuchDataPart                  = 232
	throwIfNotZero                  = 395
	accessDenied                    = 497
)

// hasCode says whether the server answered with an error of one of these codes.
func hasCode(err error, codes ...int32) bool {
	var exception *clickhouse.Exception
	return errors.As(err, &exception) && slices.Contains(codes, exception.Code)
}

// refusals are codes of ClickHouse's ErrorCodes.cpp.
func refusals() []int32 {
	return []int32{
		6,   // CANNOT_PARSE_TEXT
		26,  // CANNOT_PARSE_QUOTED_STRING
		27,  // CANNOT_PARSE_INPUT_ASSERTION_FAILED
		33,  // CANNOT_READ_ALL_DATA
		53,  // TYPE_MISMATCH
		69,  // ARGUMENT_OUT_OF_BOUND
		70,  // CANNOT_CONVERT_TYPE
		72,  // CANNOT_PARSE_NUMBER
		117, // INCORRECT_DATA
		128, // TOO_LARGE_ARRAY_SIZE
		131, // TOO_LARGE_STRING_SIZE
		190, // SIZES_OF_ARRAYS_DONT_MATCH
		321, // VALUE_IS_OUT_OF_RANGE_OF_DATA_TYPE
		349, // CANNOT_INSERT_NULL_IN_ORDINARY_COLUMN
		469, // VIOLATED_CONSTRAINT
	}
}
