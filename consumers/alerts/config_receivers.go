package alerts

import (
	"errors"
	"net"
	"net/mail"
	"net/url"
	"slices"
	"strings"

	"github.com/tensortap/tensortap/consumers/alerts/receiver"
	"github.com/tensortap/tensortap/internal/strictyaml"
	"github.com/tensortap/tensortap/sql"
)

// receiverName is also part of a key of the stream's bucket.
const receiverName = `^[a-zA-Z0-9_-]{1,100}$`

func (r *reader) receivers(n strictyaml.Node) ([]Target, error) {
	items, err := n.List()
	if err != nil {
		return nil, err
	}
	var targets []Target
	for _, item := range items {
		target, err := r.target(item)
		if err != nil {
			return nil, err
		}
		if slices.ContainsFunc(targets, func(t Target) bool { return t.Name == target.Name }) {
			return nil, item.Errorf("a second receiver is named %q", target.Name)
		}
		targets = append(targets, target)
	}
	return targets, nil
}

func (r *reader) target(n strictyaml.Node) (Target, error) {
	kinds := map[string]func(strictyaml.Node) (Receiver, error){
		"alertmanager": r.alertmanager, "slack": r.slack, "email": r.mail, "command": command,
	}
	keys, err := n.Keys("name", "rules", "alertmanager", "slack", "email", "command")
	if err != nil {
		return Target{}, err
	}
	var t Target
	if keys["name"].IsZero() {
		return t, n.Errorf("a receiver needs a name")
	}
	if t.Name, err = matching(keys["name"], receiverName); err != nil {
		return t, err
	}
	for _, kind := range []string{"alertmanager", "slack", "email", "command"} {
		node := keys[kind]
		if node.IsZero() {
			continue
		}
		if t.Receiver != nil {
			return t, node.Errorf("receiver %s has two kinds: name each in a receiver of its own", t.Name)
		}
		if t.Receiver, err = kinds[kind](node); err != nil {
			return t, err
		}
	}
	if t.Receiver == nil {
		return t, n.Errorf("receiver %s needs one of alertmanager, slack, email, command", t.Name)
	}
	return t, optional(keys["rules"], func(n strictyaml.Node) (err error) { t.Rules, err = ruleNames(n); return err })
}

func ruleNames(n strictyaml.Node) ([]string, error) {
	names, err := n.Texts()
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		if _, err := sql.RuleByTitle(name); err != nil {
			return nil, n.Errorf("%v", err)
		}
	}
	return names, nil
}

func (r *reader) alertmanager(n strictyaml.Node) (Receiver, error) { //nolint:ireturn // one of several kinds
	keys, err := n.Keys("urls", "username", "password_file", "password_env", "token_file", "token_env")
	if err != nil {
		return nil, err
	}
	if keys["urls"].IsZero() {
		return nil, n.Errorf("an Alertmanager needs urls, as http://alertmanager:9093")
	}
	m := &receiver.Alertmanager{Now: r.outside.Now}
	if m.URLs, err = keys["urls"].Texts(); err != nil {
		return nil, err
	}
	for _, address := range m.URLs {
		if err := checkURL(keys["urls"], address); err != nil {
			return nil, err
		}
	}
	return m, errors.Join(
		optional(keys["username"], func(n strictyaml.Node) (err error) { m.Login.Username, err = n.Text(); return err }),
		r.secret(keys, "password", &m.Login.Password), r.secret(keys, "token", &m.Login.Token),
	)
}

// checkURL does not show the address, which may hold a secret.
func checkURL(n strictyaml.Node, address string) error {
	parsed, err := url.Parse(address)
	if err != nil || parsed.Host == "" || (parsed.Scheme != "http" && parsed.Scheme != "https") {
		return n.Errorf("want an address that begins with http:// or https:// and names a host")
	}
	return nil
}

func (r *reader) slack(n strictyaml.Node) (Receiver, error) { //nolint:ireturn // one of several kinds
	keys, err := n.Keys("url_file", "url_env")
	if err != nil {
		return nil, err
	}
	s := &receiver.Slack{}
	if err := r.secret(keys, "url", &s.URL); err != nil {
		return nil, err
	}
	if s.URL == "" {
		return nil, n.Errorf("a webhook of Slack needs url_file or url_env, as its address is a secret")
	}
	return s, checkURL(n, s.URL)
}

func (r *reader) mail(n strictyaml.Node) (Receiver, error) { //nolint:ireturn // one of several kinds
	keys, err := n.Keys("server", "from", "to", "username", "password_file", "password_env", "security")
	if err != nil {
		return nil, err
	}
	for _, needed := range []string{"server", "from", "to"} {
		if keys[needed].IsZero() {
			return nil, n.Errorf("e-mail needs %s", needed)
		}
	}
	m := &receiver.Mail{Security: receiver.StartTLS}
	err = errors.Join(
		optional(keys["server"], func(n strictyaml.Node) (err error) { m.Server, err = hostPort(n); return err }),
		optional(keys["from"], func(n strictyaml.Node) (err error) { m.From, err = address(n); return err }),
		optional(keys["to"], func(n strictyaml.Node) (err error) { m.To, err = addresses(n); return err }),
		optional(keys["username"], func(n strictyaml.Node) (err error) { m.Username, err = n.Text(); return err }),
		optional(keys["security"], func(n strictyaml.Node) (err error) { m.Security, err = security(n); return err }),
		r.secret(keys, "password", &m.Password),
	)
	if err == nil && (m.Username == "") != (m.Password == "") {
		err = n.Errorf("a username needs password_file or password_env, and a password a username")
	}
	return m, err
}

func hostPort(n strictyaml.Node) (string, error) {
	text, err := n.Text()
	if err != nil {
		return "", err
	}
	host, port, err := net.SplitHostPort(text)
	if err != nil || host == "" || strings.Trim(port, "0123456789") != "" || port == "" {
		return "", n.Errorf("want host:port, as mail.example.com:587, not %q", text)
	}
	return text, nil
}

func address(n strictyaml.Node) (string, error) {
	text, err := n.Text()
	if err != nil {
		return "", err
	}
	if _, err := mail.ParseAddress(text); err != nil {
		return "", n.Errorf("%q is no e-mail address", text)
	}
	return text, nil
}

func addresses(n strictyaml.Node) ([]string, error) {
	items := []strictyaml.Node{n}
	if n.IsList() {
		items, _ = n.List()
	}
	var all []string
	for _, item := range items {
		one, err := address(item)
		if err != nil {
			return nil, err
		}
		all = append(all, one)
	}
	if len(all) == 0 {
		return nil, n.Errorf("want an e-mail address")
	}
	return all, nil
}

func security(n strictyaml.Node) (receiver.Security, error) {
	text, err := n.Text()
	s := receiver.Security(text)
	if err == nil && s != receiver.StartTLS && s != receiver.Implicit && s != receiver.None {
		err = n.Errorf("want starttls, implicit or none, not %q", text)
	}
	return s, err
}

func command(n strictyaml.Node) (Receiver, error) { //nolint:ireturn,iface // one of several kinds
	args, err := n.Texts()
	if err == nil && len(args) == 0 {
		err = n.Errorf("want the program and its arguments, as [/usr/local/bin/page, --now]")
	}
	return &receiver.Command{Args: args}, err
}

// secret reads NAME_file or NAME_env, if one is given. Its errors name neither what is in it.
func (r *reader) secret(keys map[string]strictyaml.Node, name string, into *string) error {
	file, env := keys[name+"_file"], keys[name+"_env"]
	switch {
	case file.IsZero() && env.IsZero():
		return nil
	case !file.IsZero() && !env.IsZero():
		return env.Errorf("%s_file is given, too: one is enough", name)
	case !file.IsZero():
		return r.secretOfFile(file, into)
	}
	variable, err := env.Text()
	if err != nil {
		return err
	}
	if *into = r.outside.Getenv(variable); *into == "" {
		return env.Errorf("environment variable %s is not set", variable)
	}
	return nil
}

func (r *reader) secretOfFile(file strictyaml.Node, into *string) error {
	path, err := file.Text()
	if err != nil {
		return err
	}
	text, err := r.outside.ReadFile(path)
	if err != nil {
		return file.Errorf("%v", err)
	}
	if *into = strings.TrimRight(string(text), "\r\n"); *into == "" {
		return file.Errorf("file %s is empty", path)
	}
	return nil
}
