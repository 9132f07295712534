package receiver

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os/exec"
	"strings"
)

// Command runs a program for each notification, which has it as JSON on its standard input.
type Command struct{ Args []string }

func (*Command) body(n *Notification) ([]byte, error) { return json.MarshalIndent(n, "", "  ") }

// Send runs the program; any other exit status than 0 is an error.
func (c *Command) Send(ctx context.Context, n Notification) error {
	body, err := c.body(&n)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, SendTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, c.Args[0], c.Args[1:]...)
	var said bytes.Buffer
	cmd.Stdin, cmd.Stderr, cmd.WaitDelay = bytes.NewReader(body), &said, SendTimeout
	err = cmd.Run()
	if ctx.Err() != nil {
		return fmt.Errorf("command %s: no end within %s", c.Args[0], SendTimeout)
	}
	if err != nil {
		text := said.Bytes()
		return fmt.Errorf("command %s: %w: %s", c.Args[0], err, strings.TrimSpace(string(text[max(0, len(text)-mostAnswer):])))
	}
	return nil
}

// Preview is what the program would read.
func (c *Command) Preview(n Notification) (string, error) {
	body, err := c.body(&n)
	return string(body), err
}

// Where names the program.
func (c *Command) Where() string { return "command " + strings.Join(c.Args, " ") }
