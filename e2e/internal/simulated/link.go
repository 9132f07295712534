package simulated

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
)

// Door is where one process connects to the server. It closes for good when the process is killed.
type Door struct {
	server *Server
	name   string
	mutex  sync.Mutex
	closed bool
	links  []*link
	dice   *Dice
}

// Door makes the door of a process.
func (s *Server) Door(name string) *Door {
	return &Door{server: s, name: name, dice: s.fate.Of("door " + name)}
}

// InProcessConn implements nats.InProcessConnProvider.
func (d *Door) InProcessConn() (net.Conn, error) {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	if d.closed || d.server.away() || d.dice.Strikes(10) {
		return nil, fmt.Errorf("connect %s: %w", d.name, io.ErrUnexpectedEOF)
	}
	client, server := ends()
	l := &link{server: d.server, conn: server, dice: d.server.fate.Of(fmt.Sprintf("link %s %d", d.name, len(d.links))), subjects: map[string]string{}}
	l.ready = sync.NewCond(&l.mutex)
	d.links = append(d.links, l)
	d.server.add(l)
	go l.read()
	go l.write()
	return client, nil
}

// Kill cuts off the process: nothing that it does from now on reaches anyone.
func (d *Door) Kill() {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	d.closed = true
	for _, l := range d.links {
		l.cut()
	}
}

// link is a connection, as the server has it.
type link struct {
	server  *Server
	conn    net.Conn
	greeted bool
	dice    *Dice

	mutex    sync.Mutex
	ready    *sync.Cond
	out      [][]byte
	dead     bool
	subjects map[string]string // by number of the subscription
}

func (l *link) cut() {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	l.dead, l.out = true, nil
	_ = l.conn.Close()
	l.ready.Broadcast()
}

func (l *link) isDead() bool {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return l.dead
}

const info = `INFO {"server_id":"S","version":"2.15.2","proto":1,"headers":true,"max_payload":8585216,"jetstream":true}` + "\r\n"

func (l *link) send(frame []byte) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if l.dead {
		return
	}
	l.out = append(l.out, frame)
	l.ready.Signal()
}

// write sends what there is, after its time on the way. Some of it is lost with the connection.
func (l *link) write() {
	if _, err := io.WriteString(l.conn, info); err != nil {
		l.cut()
		return
	}
	for {
		l.mutex.Lock()
		for len(l.out) == 0 && !l.dead {
			l.ready.Wait()
		}
		frames := bytes.Join(l.out, nil)
		l.out = nil
		dead := l.dead
		l.mutex.Unlock()
		if dead {
			return
		}
		l.dice.Travel()
		if l.dice.Strikes(60) {
			frames = frames[:l.dice.Below(len(frames))] // torn
			_, _ = l.conn.Write(frames)
			l.cut()
			return
		}
		if _, err := l.conn.Write(frames); err != nil {
			l.cut()
			return
		}
	}
}

// read takes what the client sends, in its order.
func (l *link) read() {
	defer l.server.remove(l)
	defer l.cut()
	in := bufio.NewReader(l.conn)
	for {
		line, err := in.ReadString('\n')
		if err != nil {
			return
		}
		words := strings.Fields(line)
		if len(words) == 0 {
			continue
		}
		switch words[0] {
		case "PING":
			l.pong()
		case "SUB":
			l.subscribe(words[len(words)-1], words[1])
		case "UNSUB":
			if len(words) == 2 {
				l.subscribe(words[1], "")
			}
		case "PUB", "HPUB":
			if !l.publish(in, words) {
				return
			}
		}
	}
}

// pong answers behind what was sent before; but the first time at once, since the client waits for that under its lock,
// and meanwhile the clock would stand still.
func (l *link) pong() {
	if l.greeted {
		l.send([]byte("PONG\r\n"))
		return
	}
	l.greeted = true
	_, _ = io.WriteString(l.conn, "PONG\r\n") // a broken connection shows when it is read
}

func (l *link) subscribe(number, subject string) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if subject == "" {
		delete(l.subjects, number)
		return
	}
	l.subjects[number] = subject
}

// publish reads a message and gives it to the server: in time, late though the client has long gone, or never.
func (l *link) publish(in *bufio.Reader, words []string) bool {
	size, _ := strconv.Atoi(words[len(words)-1])
	body := make([]byte, size+2)
	if _, err := io.ReadFull(in, body); err != nil {
		return false
	}
	m := &nats.Msg{Subject: words[1], Data: body[:size]}
	fixed := 3
	if words[0] == "HPUB" {
		fixed = 4
		head, _ := strconv.Atoi(words[len(words)-2])
		m.Header, _ = nats.DecodeHeadersMsg(body[:head])
		m.Data = body[head:size]
	}
	if len(words) > fixed {
		m.Reply = words[2]
	}
	l.dice.Travel()
	switch {
	case l.dice.Strikes(60):
		return false // lost, and the connection with it
	case l.dice.Strikes(60):
		l.cut()
		time.Sleep(l.dice.Upto(40 * time.Second))
	case l.isDead() && l.dice.Strikes(2):
		return false
	}
	if !l.server.away() {
		l.server.handle(l, m)
	}
	return !l.isDead()
}

// deliver sends a message to whoever of this connection listens.
func (l *link) deliver(subject string, header nats.Header, status string, data []byte) {
	if number := l.listener(subject); number != "" {
		l.send(frame(number, subject, "", header, status, data))
	}
}

// deliverAs sends a message of a stream to an inbox, under its own subject.
func (l *link) deliverAs(inbox, subject, reply string, header nats.Header, data []byte) bool {
	number := l.listener(inbox)
	if number == "" {
		return false
	}
	l.send(frame(number, subject, reply, header, "", data))
	return true
}

// listener is the subscription to a subject.
func (l *link) listener(subject string) string {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if l.dead {
		return ""
	}
	for number, pattern := range l.subjects {
		if pattern == subject || strings.HasSuffix(pattern, ".*") && strings.HasPrefix(subject, pattern[:len(pattern)-1]) {
			return number
		}
	}
	return ""
}

func frame(number, subject, reply string, header nats.Header, status string, data []byte) []byte {
	var b bytes.Buffer
	if reply != "" {
		reply = " " + reply
	}
	if header == nil && status == "" {
		fmt.Fprintf(&b, "MSG %s %s%s %d\r\n", subject, number, reply, len(data))
	} else {
		var head bytes.Buffer
		fmt.Fprintf(&head, "NATS/1.0%s\r\n", status)
		for name, values := range header {
			for _, value := range values {
				fmt.Fprintf(&head, "%s: %s\r\n", name, value)
			}
		}
		head.WriteString("\r\n")
		fmt.Fprintf(&b, "HMSG %s %s%s %d %d\r\n", subject, number, reply, head.Len(), head.Len()+len(data))
		b.Write(head.Bytes())
	}
	b.Write(data)
	b.WriteString("\r\n")
	return b.Bytes()
}
