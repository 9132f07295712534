package requests

import (
	"errors"
	"fmt"
	"strings"
)

// deepest bounds how deep values lie in each other where they are looked at: a pickle may hold itself.
const (
	deepest    = 12
	mostLooks  = 1 << 22
	fromRecord = 4 // parts of SGLang's record of a request
)

// pickled are the moments in a dump of SGLang, of a damaged one those of the requests before the damage.
func (f *file) pickled(text []byte) ([]moment, error) {
	values, damage := unpickle(text)
	if errors.Is(damage, errHostile) {
		return nil, damage
	}
	l := &looker{}
	for _, value := range values {
		l.look(value, 0)
	}
	if damage != nil {
		damage = fmt.Errorf("the pickle is damaged, %d requests before that are kept: %w", l.requests, damage)
	}
	if damage == nil && l.requests == 0 && l.unreadable == 0 {
		damage = ErrNoRequests
	}
	if damage == nil && l.unreadable > 0 {
		damage = fmt.Errorf("%d records of requests cannot be read", l.unreadable)
	}
	return l.moments, damage
}

// looker finds the records of requests in a value.
type looker struct {
	moments              []moment
	requests, unreadable int
	looks                int
}

func (l *looker) look(value any, depth int) {
	if l.looks++; depth > deepest || l.looks > mostLooks {
		return
	}
	switch v := value.(type) {
	case tuple:
		if moments, is, err := record(v); is {
			l.take(moments, err)
			return
		}
		l.lookAt(v, depth)
	case *list:
		l.lookAt(v.items, depth)
	case *dict:
		l.lookAt(v.items, depth)
	}
}

func (l *looker) lookAt(items []any, depth int) {
	for _, item := range items {
		l.look(item, depth+1)
	}
}

func (l *looker) take(moments []moment, err error) {
	if err != nil {
		l.unreadable++
		return
	}
	l.requests++
	l.moments = append(l.moments, moments...)
}

// record is the request, the answer, when it came and when it ended.
func record(parts tuple) (moments []moment, is bool, err error) {
	if len(parts) != fromRecord {
		return nil, false, nil
	}
	asked, isObject := parts[0].(*object)
	answer, isAnswer := plain(parts[1], 0).(map[string]any)
	if !isObject || !isAnswer {
		return nil, false, nil
	}
	attributes, _ := plain(asked.state, 0).(map[string]any)
	meta, _ := answer["meta_info"].(map[string]any)
	r := &request{}
	if r.id, _ = attributes["rid"].(string); r.id == "" {
		r.id, _ = meta["id"].(string)
	}
	if r.id == "" {
		return nil, true, errors.New("it names no request")
	}
	r.id = valid(r.id)
	r.askedAt, r.endAt = seconds(parts[2]), seconds(parts[3])
	r.asked(attributes)
	r.answered(meta)
	if strings.Contains(string(asked.class), "Embedding") { // which is asked for elsewhere
		r.body = nil
	}
	if text, ok := answer["text"].(string); ok {
		r.answers = []string{text}
	}
	return r.life(meta), true, nil
}

// plain is a value of dicts, lists and what they hold, as JSON would give it; an object is what its attributes are.
func plain(value any, depth int) any {
	if depth > deepest {
		return nil
	}
	switch v := value.(type) {
	case *dict:
		return plainDict(v.items, depth)
	case *list:
		return plainList(v.items, depth)
	case tuple:
		return plainList(v, depth)
	case *object:
		return plain(v.state, depth+1)
	case class:
		return string(v)
	}
	return value
}

func plainDict(items []any, depth int) map[string]any {
	values := make(map[string]any, len(items)/2)
	for i := 0; i+1 < len(items); i += 2 {
		if name, ok := items[i].(string); ok {
			values[name] = plain(items[i+1], depth+1)
		}
	}
	return values
}

func plainList(items []any, depth int) []any {
	values := make([]any, len(items))
	for i, item := range items {
		values[i] = plain(item, depth+1)
	}
	return values
}
