package mirror

import (
	"fmt"
	"path"
	"strconv"
	"strings"

	"github.com/zeebo/xxh3"

	"github.com/tensortap/tensortap/consumers/parquet"
	"github.com/tensortap/tensortap/internal/bucket"
	"github.com/tensortap/tensortap/schemas"
)

// Objects lie below these.
const (
	filesBegin = "event="
	linesBegin = "manifest/"
	extension  = ".parquet"
)

// objectName is that of the file with the hash of its content: no other content ever has it, whichever archive it is of, so
// that an upload may be repeated and replaces nothing.
func objectName(f parquet.File) string {
	return strings.TrimSuffix(f.Name, extension) + "-" + schemas.FormatID(f.Hash) + extension
}

// fileOf is the file that an object holds, by its name and size alone.
func fileOf(o bucket.Object) (parquet.File, bool) {
	folder, base := path.Split(o.Name)
	number, hash, ok := strings.Cut(strings.TrimSuffix(base, extension), "-")
	kind, run, placed := strings.Cut(strings.TrimSuffix(folder, "/"), "/run=")
	runID, runErr := schemas.ParseID(run)
	sum, sumErr := schemas.ParseID(hash)
	return parquet.File{
		Name: folder + number + extension, Kind: strings.TrimPrefix(kind, filesBegin), RunID: runID, Bytes: o.Size, Hash: sum,
	}, ok && placed && runErr == nil && sumErr == nil && strings.HasPrefix(kind, filesBegin) && path.Ext(base) == extension
}

// lines is an object that holds a piece of an archive's manifest.
type lines struct {
	archive    string // its id
	number     uint64 // of the object, from 1
	begin, end int64  // places in the manifest
	hash       uint64 // xxh3 of the piece
}

func linesOf(archive string, number uint64, begin int64, text []byte) lines {
	return lines{archive: archive, number: number, begin: begin, end: begin + int64(len(text)), hash: xxh3.Hash(text)}
}

func (l lines) name() string {
	return fmt.Sprintf("%s%s/%012d-%d-%d-%s", linesBegin, l.archive, l.number, l.begin, l.end, schemas.FormatID(l.hash))
}

// parseLines reads the name of such an object.
func parseLines(name string) (l lines, ok bool) {
	l.archive = path.Base(path.Dir(name))
	parts := strings.Split(path.Base(name), "-")
	const wanted = 4
	if len(parts) != wanted {
		return l, false
	}
	var err [wanted]error
	l.number, err[0] = strconv.ParseUint(parts[0], 10, 64)
	l.begin, err[1] = strconv.ParseInt(parts[1], 10, 64)
	l.end, err[2] = strconv.ParseInt(parts[2], 10, 64)
	l.hash, err[3] = schemas.ParseID(parts[3])
	return l, err == [wanted]error{} && l.name() == name
}
