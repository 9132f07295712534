package credentials

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/nats-io/nkeys"

	"github.com/tensortap/tensortap/internal/durable"
	"github.com/tensortap/tensortap/schemas"
)

// Names of files in the folder.
const (
	usersName      = "users.conf"
	databaseName   = "clickhouse-users.xml"
	seedEnding     = ".nk"
	passwordEnding = ".password"
	addressEnding  = ".dsn"
	runMark        = "# run "
)

// Request says what to make in a folder. What is there stays as it is.
type Request struct {
	Folder   string
	Database string   // host and port of ClickHouse's HTTP, for the addresses of its users
	Runs     []string // each gets a producer of its own
}

// passwords are the files of passwords, those of ClickHouse with the user's name.
func passwords() map[string]string {
	return map[string]string{"clickhouse-writer": "writer", "clickhouse-reader": "reader", "grafana-admin": ""}
}

// Make makes what the folder lacks, and returns the names of the files that it made or changed.
func Make(r Request) ([]string, error) {
	if err := r.check(); err != nil {
		return nil, err
	}
	m := maker{folder: r.Folder}
	if err := durable.MakeFolder(r.Folder); err != nil {
		return nil, fmt.Errorf("make credentials: %w", err)
	}
	err := errors.Join(m.seeds(r.Runs), m.passwords(r.Database), m.users())
	slices.Sort(m.made)
	if err != nil {
		err = fmt.Errorf("make credentials in %s: %w", r.Folder, err)
	}
	return m.made, err
}

func (r Request) check() error {
	for _, run := range r.Runs {
		if err := schemas.CheckRunName(run); err != nil {
			return fmt.Errorf("make credentials of a producer of run %q: %w", run, err)
		}
	}
	return nil
}

type maker struct {
	folder string
	made   []string
}

// seeds makes the keys of roles and producers.
func (m *maker) seeds(runs []string) error {
	for _, role := range Roles() {
		if err := m.seed(role, "# role "+role); err != nil {
			return err
		}
	}
	for _, run := range runs {
		if err := m.seed(producerFile(run), runMark+strconv.Quote(run)); err != nil {
			return err
		}
	}
	return nil
}

// producerFile is named by the run's id: the name may hold anything.
func producerFile(run string) string { return producer + "-" + schemas.FormatID(schemas.RunID(run)) }

func (m *maker) seed(name, head string) error {
	return m.once(name+seedEnding, func() (string, error) {
		pair, err := nkeys.CreateUser()
		if err != nil {
			return "", err
		}
		seed, err := pair.Seed()
		return head + "\n" + string(seed) + "\n", err
	})
}

// passwords makes passwords, addresses with them, and the digests that ClickHouse reads.
func (m *maker) passwords(database string) error {
	var digests []string
	for file, user := range passwords() {
		if err := m.once(file+passwordEnding, func() (string, error) { return rand.Text(), nil }); err != nil {
			return err
		}
		if user == "" {
			continue
		}
		password, err := os.ReadFile(m.path(file + passwordEnding))
		if err != nil {
			return err
		}
		address := url.URL{Scheme: "http", User: url.UserPassword(user, string(password)), Host: database}
		if err := m.write(file+addressEnding, address.String()+"\n"); err != nil {
			return err
		}
		digests = append(digests, digestLine(user, password))
	}
	return m.write(databaseName, "<clickhouse>\n"+sorted(digests)+"</clickhouse>\n")
}

func digestLine(user string, password []byte) string {
	sum := sha256.Sum256(password)
	return fmt.Sprintf("  <%s_sha256>%s</%[1]s_sha256>\n", user, hex.EncodeToString(sum[:]))
}

func sorted(lines []string) string {
	slices.Sort(lines)
	return strings.Join(lines, "")
}

// users writes the server's list of all users whose keys are in the folder.
func (m *maker) users() error {
	names, err := filepath.Glob(m.path("*" + seedEnding))
	if err != nil {
		return err
	}
	var all []user
	for _, name := range names {
		u, err := readUser(name)
		if err != nil {
			return err
		}
		all = append(all, u)
	}
	return m.write(usersName, usersFile(all))
}

// readUser is the user whose key the file holds.
func readUser(path string) (user, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return user{}, err
	}
	pair, err := nkeys.ParseDecoratedNKey(text)
	if err != nil {
		return user{}, fmt.Errorf("%s holds no seed: remove it to have a new one made", path)
	}
	defer pair.Wipe()
	public, err := pair.PublicKey()
	u := user{role: strings.TrimSuffix(filepath.Base(path), seedEnding), public: public}
	if strings.HasPrefix(u.role, producer+"-") {
		return asProducer(u, path, string(text))
	}
	if !slices.Contains(Roles(), u.role) {
		return u, fmt.Errorf("%s is the key of no role: want one of %v", path, Roles())
	}
	return u, err
}

func asProducer(u user, path, text string) (user, error) {
	line, _, _ := strings.Cut(text, "\n")
	quoted, found := strings.CutPrefix(line, runMark)
	run, err := strconv.Unquote(quoted)
	if !found || err != nil || producerFile(run) != u.role {
		return u, fmt.Errorf("%s does not name its run in its first line: remove it, and have it made again", path)
	}
	u.role, u.run = producer, run
	return u, nil
}

// once writes the file if it is not there.
func (m *maker) once(name string, content func() (string, error)) error {
	_, err := os.Stat(m.path(name))
	if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	text, err := content()
	if err != nil {
		return err
	}
	return m.write(name, text)
}

// readable is the mode of the files: users of containers may read those that are mounted there. The folder keeps others out.
const readable = 0o444

// write writes the file if it holds something else.
func (m *maker) write(name, text string) error {
	if have, err := os.ReadFile(m.path(name)); err == nil && string(have) == text {
		return nil
	}
	if err := durable.WriteFile(m.path(name), strings.NewReader(text)); err != nil {
		return err
	}
	m.made = append(m.made, name)
	return os.Chmod(m.path(name), readable)
}

func (m *maker) path(name string) string { return filepath.Join(m.folder, name) }
