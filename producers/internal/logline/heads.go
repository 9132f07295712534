package logline

import (
	"strconv"
	"strings"
)

// levelled is "ERROR 04-11 12:00:00 [core.py:600] " of vLLM, "W1121 10:02:45.353 12 run.py:793] " of torchrun, or
// "WARNING:name:" of Python.
func (p *Parser) levelled(s string, r *Record) (string, bool) {
	if isDigit(s[1]) {
		return p.glog(s, r)
	}
	end := strings.IndexAny(s, " :")
	if end < 0 || end > len("CRITICAL") {
		return s, false
	}
	level := levelOf(s[:end])
	if level == "" {
		return s, false
	}
	if s[end] == ':' {
		logger, message, found := strings.Cut(s[end+1:], ":")
		if !found || logger == "" || strings.ContainsAny(logger, " \t") {
			r.Level = level
			return s[end+1:], true
		}
		r.Level, r.Logger = level, logger
		return message, true
	}
	return p.vllm(s, s[end+1:], level, r)
}

func (p *Parser) vllm(s, rest, level string, r *Record) (string, bool) {
	if len(rest) < len("04-11 12:00:00") || rest[2] != '-' {
		return s, false
	}
	month, day := digits(rest[:2]), digits(rest[3:5])
	ns, size := p.clockOf(month, day, rest[5:])
	if size == 0 {
		return s, false
	}
	r.Level, r.TimeNs, r.Clock = level, ns, LocalClock
	rest = strings.TrimPrefix(rest[5+size:], " ")
	if source, behind, closed := strings.Cut(rest, "]"); closed && strings.HasPrefix(source, "[") {
		r.Logger, rest = source[1:], behind
	}
	return rest, true
}

// glog is "W1121 10:02:45.353605 4211 run.py:793] ", in which the process may be missing.
func (p *Parser) glog(s string, r *Record) (string, bool) {
	if len(s) < len("W1121 10:02:45") || !strings.Contains("IWEFD", s[:1]) || s[5] != ' ' {
		return s, false
	}
	month, day := digits(s[1:3]), digits(s[3:5])
	ns, size := p.clockOf(month, day, s[5:])
	facts, rest, closed := strings.Cut(s[5+size:], "]")
	if size == 0 || !closed {
		return s, false
	}
	r.Level, r.TimeNs, r.Clock = levelOf(s[:1]), ns, LocalClock
	words := strings.Fields(facts)
	if len(words) > 0 {
		r.Logger = words[len(words)-1]
	}
	if pid, err := strconv.ParseInt(strings.Join(words[:max(0, len(words)-1)], ""), 10, 64); err == nil {
		r.PID = pid
	}
	return rest, true
}

// nccl is "host:4211:4300 [0] NCCL INFO ".
func nccl(s string, r *Record) (string, bool) {
	place, rest, found := strings.Cut(s, " NCCL ")
	if !found || len(place) > 300 {
		return s, false
	}
	name, gpu, found := strings.Cut(place, " [")
	parts := strings.Split(name, ":")
	if !found || len(parts) != 3 {
		return s, false
	}
	pid, err := strconv.ParseInt(parts[1], 10, 64)
	level, message, _ := strings.Cut(rest, " ")
	if err != nil || !number(strings.TrimSuffix(gpu, "]"), "", &r.Where.GPU) {
		return s, false
	}
	r.Host, r.PID, r.Level, r.Logger = parts[0], pid, levelOf(level), "NCCL"
	return message, true
}

func levelOf(word string) string {
	switch word {
	case "DEBUG", "TRACE", "D", "debug", "trace":
		return "debug"
	case "INFO", "I", "NOTICE", "SUCCESS", "info":
		return "info"
	case "WARNING", "WARN", "W", "warning", "warn":
		return "warning"
	case "ERROR", "E", "error":
		return "error"
	case "CRITICAL", "FATAL", "F", "critical", "fatal":
		return "critical"
	}
	return ""
}
