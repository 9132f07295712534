// Package dap speaks the Debug Adapter Protocol as an editor does, for tests.
package dap

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/textproto"
	"strconv"
	"time"
)

// Patience is how long an adapter may take for an answer.
const Patience = 3 * time.Minute

// Client is one connection to an adapter.
type Client struct {
	connection net.Conn
	reader     *bufio.Reader
	sequence   int
	events     []message
}

type message struct {
	Sequence int             `json:"seq"`
	Type     string          `json:"type"`
	Command  string          `json:"command,omitempty"`
	Event    string          `json:"event,omitempty"`
	Answers  int             `json:"request_seq,omitempty"`
	Success  bool            `json:"success,omitempty"`
	Message  string          `json:"message,omitempty"`
	Body     json.RawMessage `json:"body,omitempty"`
	Argument any             `json:"arguments,omitempty"`
}

// Frame is one of a stack.
type Frame struct {
	ID     int    `json:"id"`
	Name   string `json:"name"`
	Line   int    `json:"line"`
	Source struct {
		Path string `json:"path"`
	} `json:"source"`
}

// Dial connects to where a process listens.
func Dial(address string) (*Client, error) {
	connection, err := net.DialTimeout("tcp", address, Patience) //nolint:noctx // of this machine
	if err != nil {
		return nil, err
	}
	return &Client{connection: connection, reader: bufio.NewReader(connection)}, nil
}

// Close leaves without a word.
func (c *Client) Close() error { return c.connection.Close() }

// Attach attaches, with breakpoints at those lines of the file, as an editor does: the answer to attach comes last.
func (c *Client) Attach(path string, lines ...int) error {
	if err := c.Request("initialize", map[string]any{"adapterID": "debugpy", "linesStartAt1": true, "columnsStartAt1": true, "pathFormat": "path"}, nil); err != nil {
		return err
	}
	attach, err := c.send("attach", map[string]any{"justMyCode": false})
	if err != nil {
		return err
	}
	if err := c.event("initialized", attach, nil); err != nil {
		return err
	}
	points := []map[string]any{}
	for _, line := range lines {
		points = append(points, map[string]any{"line": line})
	}
	if err := c.Request("setBreakpoints", map[string]any{"source": map[string]any{"path": path}, "breakpoints": points}, nil); err != nil {
		return err
	}
	if err := c.Request("configurationDone", map[string]any{}, nil); err != nil {
		return err
	}
	_, err = c.answer(attach)
	return err
}

// Stopped waits until a thread has stopped, and returns its stack, innermost frame first.
func (c *Client) Stopped() (thread int, stack []Frame, err error) {
	var stopped struct {
		Thread int `json:"threadId"`
	}
	if err := c.Event("stopped", &stopped); err != nil {
		return 0, nil, err
	}
	var answer struct {
		Frames []Frame `json:"stackFrames"`
	}
	err = c.Request("stackTrace", map[string]any{"threadId": stopped.Thread}, &answer)
	return stopped.Thread, answer.Frames, err
}

// Local is the value of a local variable of a frame, as the debugger shows it.
func (c *Client) Local(frame int, name string) (string, error) {
	var scopes struct {
		Scopes []struct {
			Reference int `json:"variablesReference"`
		} `json:"scopes"`
	}
	if err := c.Request("scopes", map[string]any{"frameId": frame}, &scopes); err != nil {
		return "", err
	}
	for _, scope := range scopes.Scopes {
		var answer struct {
			Variables []struct {
				Name  string `json:"name"`
				Value string `json:"value"`
			} `json:"variables"`
		}
		if err := c.Request("variables", map[string]any{"variablesReference": scope.Reference}, &answer); err != nil {
			return "", err
		}
		for _, variable := range answer.Variables {
			if variable.Name == name {
				return variable.Value, nil
			}
		}
	}
	return "", fmt.Errorf("frame %d has no variable %s", frame, name)
}

// Request asks, and reads the body of the answer into it, if it is not nil.
func (c *Client) Request(command string, argument, into any) error {
	sequence, err := c.send(command, argument)
	if err != nil {
		return err
	}
	answer, err := c.answer(sequence)
	if err != nil || into == nil {
		return err
	}
	return json.Unmarshal(answer.Body, into)
}

// Event waits for an event of that name.
func (c *Client) Event(name string, into any) error { return c.event(name, 0, into) }

// event waits for an event, or for the refusal of the request without which it will not come.
func (c *Client) event(name string, unless int, into any) error {
	for {
		for i, m := range c.events {
			if m.Event == name {
				c.events = append(c.events[:i], c.events[i+1:]...)
				if into == nil {
					return nil
				}
				return json.Unmarshal(m.Body, into)
			}
		}
		m, err := c.read()
		if err != nil {
			return fmt.Errorf("await event %s: %w", name, err)
		}
		if m.Type == "response" && m.Answers == unless && !m.Success {
			return fmt.Errorf("%s is refused: %s", m.Command, m.Message)
		}
	}
}

func (c *Client) answer(sequence int) (message, error) {
	for {
		m, err := c.read()
		if err != nil {
			return m, fmt.Errorf("await an answer: %w", err)
		}
		if m.Type == "response" && m.Answers == sequence {
			if !m.Success {
				return m, fmt.Errorf("%s is refused: %s", m.Command, m.Message)
			}
			return m, nil
		}
	}
}

func (c *Client) send(command string, argument any) (int, error) {
	c.sequence++
	text, err := json.Marshal(message{Sequence: c.sequence, Type: "request", Command: command, Argument: argument})
	if err != nil {
		return 0, err
	}
	_, err = fmt.Fprintf(c.connection, "Content-Length: %d\r\n\r\n%s", len(text), text)
	return c.sequence, err
}

// read returns the next message, and keeps events for who waits for them.
func (c *Client) read() (message, error) {
	var m message
	if err := c.connection.SetReadDeadline(time.Now().Add(Patience)); err != nil {
		return m, err
	}
	head, err := textproto.NewReader(c.reader).ReadMIMEHeader()
	if err != nil {
		return m, err
	}
	length, err := strconv.Atoi(head.Get("Content-Length"))
	if err != nil {
		return m, err
	}
	text := make([]byte, length)
	if _, err := io.ReadFull(c.reader, text); err != nil {
		return m, err
	}
	if err := json.Unmarshal(text, &m); err != nil {
		return m, err
	}
	if m.Type == "event" {
		c.events = append(c.events, m)
	}
	return m, nil
}
