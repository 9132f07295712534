package main

import (
	"cmp"
	"context"
	"io/fs"
	"time"

	"github.com/spf13/cobra"

	"github.com/tensortap/tensortap/internal/api"
	"github.com/tensortap/tensortap/internal/health"
	"github.com/tensortap/tensortap/internal/tokens"
	"github.com/tensortap/tensortap/web"
)

// defaultListen is where the page and the API are, unless it is said otherwise.
const defaultListen = "127.0.0.1:7070"

// listening has the flags of commands that serve the page and the API.
type listening struct {
	place   api.Place
	tokens  string // file
	control bool
}

func (l *listening) flags(cmd *cobra.Command, address string) {
	usage := "`HOST:PORT` of the page and the API (also TENSORTAP_LISTEN); port 0 takes a free one"
	if address == "" {
		usage += "; by default " + defaultListen + ", or a free port where that one is taken"
	}
	f := cmd.Flags()
	f.StringVar(&l.place.Address, "listen", address, usage)
	f.StringVar(&l.tokens, "tokens", "", "`FILE` of the tokens of those who may ask, of tensortap token new (also TENSORTAP_TOKENS)")
	f.StringVar(&l.place.Cert, "listen-cert", "", "file of the certificate of the page and the API, PEM")
	f.StringVar(&l.place.Key, "listen-key", "", "file of the key of --listen-cert, PEM")
	for _, name := range []string{"tokens", "listen-cert", "listen-key"} {
		_ = cmd.MarkFlagFilename(name)
	}
}

// page is the page that is built into the program; empty where it was not built.
func page() fs.FS { return web.Files() }

// shared is the page of a comparison that is shared as a file; nil where it was not built.
func shared() []byte {
	page, err := web.Shared()
	if err != nil {
		return nil // who asks for the file is told
	}
	return page
}

// open makes the API and opens its port.
func (l *listening) open(ctx context.Context, a *app) (*api.API, *api.Server, error) {
	answers, err := l.answers(a)
	if err != nil {
		return nil, nil, err
	}
	server, err := answers.Listen(ctx, l.place)
	return answers, server, err
}

func (l *listening) answers(a *app) (*api.API, error) {
	cfg := api.Config{
		Version: version, Page: page(), Shared: shared(), Control: l.control, RawTensors: a.rawTensors, Log: a.logger(), Now: time.Now,
	}
	cfg.Program = a.programAnywhere()
	cfg.Access.Secure = l.place.Cert != ""
	if file := cmp.Or(l.tokens, a.getenv("TENSORTAP_TOKENS")); file != "" {
		var err error
		if cfg.Access.Tokens, err = tokens.Open(file, time.Now); err != nil {
			return nil, err
		}
		cfg.Program = "" // who has a token may be on another machine, where the folder of data is another
	}
	if address := a.getenv("TENSORTAP_LISTEN"); address != "" && (l.place.Address == "" || l.place.Address == defaultListen) {
		l.place.Address = address
	}
	answers, err := api.New(cfg)
	if err == nil {
		a.own.Answers(func() health.Answers { return health.Answers(answers.Counts()) })
	}
	return answers, err
}
