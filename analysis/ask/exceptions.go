package ask

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/ClickHouse/clickhouse-go/v2"

	"github.com/tensortap/tensortap/analysis/judge"
)

// CannotCompileRegexp is CANNOT_COMPILE_REGEXP of ClickHouse's ErrorCodes.cpp.
const CannotCompileRegexp = 427

// MalformedExceptionError says that a row which a user wrote into
// known_exception holds what is no regular expression, so that nothing that
// judges by it can be answered. Its caller tells the user.
type MalformedExceptionError struct {
	API, Role, Path, Sort string
	Cause                 error
}

func (e *MalformedExceptionError) Error() string {
	return fmt.Sprintf("a row of tap_store.known_exception has no regular expression in api %q or path %q (role %q, sort %q); take it out as the owner: "+
		"DELETE FROM tap_store.known_exception WHERE api = %s AND role = %s AND path = %s AND sort = %s: %v",
		e.API, e.Path, e.Role, e.Sort, statementText(e.API), statementText(e.Role), statementText(e.Path), statementText(e.Sort), e.Cause)
}

func (e *MalformedExceptionError) Unwrap() error { return e.Cause }

// AsStored says of an exception that nothing can be judged by how to take it out of the database; any other error stays
// as it is.
func AsStored(err error) error {
	malformed, is := errors.AsType[*judge.MalformedExceptionError](err)
	if !is {
		return err
	}
	e := malformed.Exception
	return &MalformedExceptionError{API: e.API, Role: e.Role, Path: e.Path, Sort: e.Sort, Cause: malformed.Cause}
}

// statementText is a text as a statement of the database holds it.
func statementText(text string) string {
	return "'" + strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(text) + "'"
}

// exceptionsLookedAt bounds the search for a row that is malformed.
const exceptionsLookedAt = 1000

// nameMalformed names the row of known_exception that made a query fail, if it was one.
func (d *Door) nameMalformed(ctx context.Context, failed error) error {
	if !isMalformed(failed) {
		return failed
	}
	rows, err := d.read(ctx, "SELECT api, role, path, sort FROM tap_store.known_exception FINAL ORDER BY api, path LIMIT {most:UInt64}",
		map[string]string{"most": fmt.Sprint(exceptionsLookedAt)})
	if err != nil {
		return failed
	}
	for i := range rows.Rows {
		text := func(column string) string { return rows.Get(i, column).Exact }
		if cause := d.compile(ctx, text("api"), text("path")); cause != nil {
			return &MalformedExceptionError{API: text("api"), Role: text("role"), Path: text("path"), Sort: text("sort"), Cause: cause}
		}
	}
	return failed
}

func isMalformed(err error) bool {
	var exception *clickhouse.Exception
	return errors.As(err, &exception) && exception.Code == CannotCompileRegexp
}

// compile says why one of the texts is no regular expression to the database.
func (d *Door) compile(ctx context.Context, texts ...string) error {
	for _, text := range texts {
		if _, err := d.read(ctx, "SELECT match('', {pattern:String})", map[string]string{"pattern": text}); isMalformed(err) {
			return err
		}
	}
	return nil
}
