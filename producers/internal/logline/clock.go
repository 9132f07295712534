package logline

import (
	"time"
)

const (
	mostHours    = 4096 // that are kept
	mostDecimals = 9
)

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

// digits is a number of digits alone, or Unknown.
func digits(s string) int {
	n := 0
	for i := range len(s) {
		if !isDigit(s[i]) {
			return Unknown
		}
		n = 10*n + int(s[i]-'0')
	}
	return n
}

// stamp is "2026-01-02 03:04:05", with or without T, decimals and a zone, and its size, 0 if there is none.
func (p *Parser) stamp(s string) (ns int64, clock Clock, size int) {
	const day = len("2026-01-02")
	if len(s) < day+len(" 03:04:05") || (s[4] != '-' && s[4] != '/') || s[7] != s[4] || (s[day] != ' ' && s[day] != 'T') {
		return 0, NoClock, 0
	}
	hour, within, size := timeOfDay(s[day+1:])
	year, month, date := digits(s[:4]), digits(s[5:7]), digits(s[8:day])
	if size == 0 || !isDate(year, month, date) {
		return 0, NoClock, 0
	}
	size += day + 1
	if offset, n := zone(s[size:]); n > 0 {
		return time.Date(year, time.Month(month), date, hour, 0, 0, 0, time.UTC).UnixNano() + within - offset, ZonedClock, size + n
	}
	return p.hour(year, month, date, hour) + within, LocalClock, size
}

func isDate(year, month, date int) bool {
	return year >= 1970 && year < 2262 && month >= 1 && month <= 12 && date >= 1 && date <= 31
}

// timeOfDay is "03:04:05.678901": its hour, the nanoseconds within, and its size.
func timeOfDay(s string) (hour int, within int64, size int) {
	const whole = len("03:04:05")
	if len(s) < whole || s[2] != ':' || s[5] != ':' {
		return 0, 0, 0
	}
	hour, minute, second := digits(s[:2]), digits(s[3:5]), digits(s[6:whole])
	if hour < 0 || hour > 23 || minute < 0 || minute > 59 || second < 0 || second > 60 {
		return 0, 0, 0
	}
	within = int64(minute)*int64(time.Minute) + int64(second)*int64(time.Second)
	fraction, n := decimals(s[whole:])
	return hour, within + fraction, whole + n
}

// decimals are ",678" or ".678901" of a second.
func decimals(s string) (ns int64, size int) {
	if len(s) < 2 || (s[0] != '.' && s[0] != ',') || !isDigit(s[1]) {
		return 0, 0
	}
	unit := int64(time.Second)
	for size = 1; size < len(s) && size <= mostDecimals && isDigit(s[size]); size++ {
		unit /= 10
		ns += unit * int64(s[size]-'0')
	}
	return ns, size
}

// zone is "Z", "+01:00" or "-0800".
func zone(s string) (offset int64, size int) {
	if s != "" && s[0] == 'Z' {
		return 0, 1
	}
	if len(s) < len("+0100") || (s[0] != '+' && s[0] != '-') {
		return 0, 0
	}
	minutes, size := s[3:5], 5
	if s[3] == ':' && len(s) >= 6 {
		minutes, size = s[4:6], 6
	}
	h, m := digits(s[1:3]), digits(minutes)
	if h < 0 || m < 0 {
		return 0, 0
	}
	offset = int64(h)*int64(time.Hour) + int64(m)*int64(time.Minute)
	if s[0] == '-' {
		offset = -offset
	}
	return offset, size
}

// clockOf is a date without a year, and a time behind a space: the last such time that is not after the newest.
func (p *Parser) clockOf(month, date int, s string) (ns int64, size int) {
	if s == "" || s[0] != ' ' {
		return 0, 0
	}
	hour, within, n := timeOfDay(s[1:])
	newest := p.Newest.In(p.Zone)
	year := newest.Year()
	if n == 0 || !isDate(year, month, date) {
		return 0, 0
	}
	const aDay = int64(24 * time.Hour) // clocks differ
	if ns = p.hour(year, month, date, hour) + within; ns > newest.UnixNano()+aDay {
		ns = p.hour(year-1, month, date, hour) + within
	}
	return ns, n + 1
}

// hour is when an hour begins: zones change at no other time, but for a few.
func (p *Parser) hour(year, month, date, hour int) int64 {
	key := ((int64(year)*13+int64(month))*32+int64(date))*24 + int64(hour)
	if p.last.key == key {
		return p.last.ns
	}
	ns, known := p.hours[key]
	if !known {
		if len(p.hours) >= mostHours || p.hours == nil {
			p.hours = map[int64]int64{}
		}
		ns = time.Date(year, time.Month(month), date, hour, 0, 0, 0, p.Zone).UnixNano()
		p.hours[key] = ns
	}
	p.last.key, p.last.ns = key, ns
	return ns
}
