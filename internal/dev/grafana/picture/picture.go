// Package picture draws a dashboard with the answers to its queries, roughly as Grafana does, for pages that show what there
// is to see.
package picture

import (
	"fmt"
	"html"
	"math"
	"slices"
	"strings"
)

// Panel is one picture and where it stands on Grafana's grid of 24 columns.
type Panel struct {
	Title      string
	X, Y, W, H int
	Columns    []string
	Rows       [][]string // of a table, or of big figures
	Lines      map[string][]Point
	Log        bool // the axis of values is logarithmic
	Big        bool // rows are big figures: a text, a number
}

// Point is a place of a line; X is a step, or seconds.
type Point struct{ X, Y float64 }

const (
	column = 50 // pixels of a column of the grid
	row    = 30
	margin = 8
	letter = 6.3 // width of a character, about
)

// Draw is the dashboard as SVG.
func Draw(title string, panels []Panel) string {
	bottom := 0
	for _, p := range panels {
		bottom = max(bottom, p.Y+p.H)
	}
	var svg strings.Builder
	fmt.Fprintf(&svg, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" font-family="sans-serif" font-size="11" fill="#333">`+"\n", 24*column, (bottom+1)*row)
	fmt.Fprintf(&svg, `<rect width="100%%" height="100%%" fill="#f4f5f5"/><text x="%d" y="20" font-size="15" font-weight="bold">%s</text>`+"\n", margin, html.EscapeString(title))
	for _, p := range panels {
		p.draw(&svg)
	}
	svg.WriteString("</svg>\n")
	return svg.String()
}

// area is the inside of a panel, in pixels.
type area struct{ x, y, w, h float64 }

func (p Panel) draw(svg *strings.Builder) {
	a := area{float64(p.X*column + margin/2), float64((p.Y+1)*row + margin/2), float64(p.W*column - margin), float64(p.H*row - margin)}
	fmt.Fprintf(svg, `<rect x="%g" y="%g" width="%g" height="%g" fill="#fff" stroke="#ddd"/><text x="%g" y="%g" font-weight="bold">%s</text>`+"\n",
		a.x, a.y, a.w, a.h, a.x+margin, a.y+16, html.EscapeString(p.Title))
	inside := area{a.x + margin, a.y + 24, a.w - 2*margin, a.h - 30}
	switch {
	case p.Lines != nil:
		p.chart(svg, inside)
	case p.Big:
		p.figures(svg, inside)
	default:
		p.table(svg, inside)
	}
}

func (p Panel) figures(svg *strings.Builder, in area) {
	for i, r := range p.Rows {
		x := in.x + in.w/float64(len(p.Rows))*float64(i)
		fmt.Fprintf(svg, `<text x="%g" y="%g" font-size="24">%s</text><text x="%g" y="%g">%s</text>`+"\n",
			x, in.y+30, html.EscapeString(r[1]), x, in.y+48, html.EscapeString(r[0]))
	}
}

// table shows the rows for which there is room; each column has a share of the width by its longest text.
func (p Panel) table(svg *strings.Builder, in area) {
	const high = 15
	shown := p.Rows[:min(len(p.Rows), int(in.h/high)-1)]
	wide := make([]float64, len(p.Columns))
	total := 0.
	for i, name := range p.Columns {
		longest := len(name)
		for _, r := range shown {
			longest = max(longest, len(r[i]))
		}
		wide[i] = float64(min(longest, 48) + 2)
		total += wide[i]
	}
	shrink := min(letter, in.w/max(total, 1))
	x := in.x
	for i, name := range p.Columns {
		room := int(wide[i] * shrink / letter)
		fmt.Fprintf(svg, `<text x="%g" y="%g" fill="#777">%s</text>`, x, in.y+high, cut(name, room))
		for j, r := range shown {
			fmt.Fprintf(svg, `<text x="%g" y="%g">%s</text>`, x, in.y+float64(j+2)*high, cut(r[i], room))
		}
		x += wide[i] * shrink
	}
	svg.WriteByte('\n')
}

func cut(text string, room int) string {
	letters := []rune(strings.ReplaceAll(text, "\n", " "))
	if len(letters) > room {
		letters = append(letters[:max(room-1, 0)], '…')
	}
	return html.EscapeString(string(letters))
}

func colors() []string {
	return []string{"#7eb26d", "#eab839", "#6ed0e0", "#ef843c", "#e24d42", "#1f78c1", "#ba43a9", "#705da0"}
}

func (p Panel) chart(svg *strings.Builder, in area) {
	names := make([]string, 0, len(p.Lines))
	for name := range p.Lines {
		names = append(names, name)
	}
	slices.Sort(names)
	plot := area{in.x + 62, in.y, in.w - 70, in.h - 34}
	least, greatest := p.bounds()
	p.axes(svg, plot, least, greatest)
	at := in.x
	for i, name := range names {
		color := colors()[i%len(colors())]
		var points strings.Builder
		for _, point := range p.Lines[name] {
			if v := p.height(point.Y); !math.IsNaN(v) {
				fmt.Fprintf(&points, "%.1f,%.1f ", plot.x+share(point.X, least.X, greatest.X)*plot.w, plot.y+(1-share(v, least.Y, greatest.Y))*plot.h)
			}
		}
		fmt.Fprintf(svg, `<polyline points="%s" fill="none" stroke="%s" stroke-width="1.5"/>`, points.String(), color)
		if at < in.x+in.w-80 {
			fmt.Fprintf(svg, `<text x="%g" y="%g" fill="%s">%s</text>`, at, in.y+in.h, color, cut(name, 30))
			at += float64(min(len(name), 30))*letter + 14
		}
	}
	svg.WriteByte('\n')
}

// height is a value on the axis; what a logarithmic one cannot show is not shown.
func (p Panel) height(value float64) float64 {
	if math.IsInf(value, 0) || p.Log && value <= 0 {
		return math.NaN()
	}
	if p.Log {
		return math.Log10(value)
	}
	return value
}

func (p Panel) bounds() (least, greatest Point) {
	least, greatest = Point{math.Inf(1), math.Inf(1)}, Point{math.Inf(-1), math.Inf(-1)}
	for _, line := range p.Lines {
		for _, point := range line {
			if v := p.height(point.Y); !math.IsNaN(v) {
				least = Point{min(least.X, point.X), min(least.Y, v)}
				greatest = Point{max(greatest.X, point.X), max(greatest.Y, v)}
			}
		}
	}
	return least, greatest
}

func share(value, least, greatest float64) float64 {
	if greatest <= least {
		return 0.5
	}
	return (value - least) / (greatest - least)
}

func (p Panel) axes(svg *strings.Builder, plot area, least, greatest Point) {
	if math.IsInf(least.X, 0) {
		fmt.Fprintf(svg, `<text x="%g" y="%g" fill="#999">nothing</text>`, plot.x, plot.y+plot.h/2)
		return
	}
	for i := range 3 {
		part := float64(i) / 2
		y, value := plot.y+(1-part)*plot.h, least.Y+part*(greatest.Y-least.Y)
		if p.Log {
			value = math.Pow(10, value)
		}
		fmt.Fprintf(svg, `<line x1="%g" x2="%g" y1="%g" y2="%g" stroke="#eee"/><text x="%g" y="%g" text-anchor="end" fill="#777">%.3g</text>`,
			plot.x, plot.x+plot.w, y, y, plot.x-4, y+4, value)
	}
	fmt.Fprintf(svg, `<text x="%g" y="%g" fill="#777">%.6g</text><text x="%g" y="%g" text-anchor="end" fill="#777">%.6g</text>`,
		plot.x, plot.y+plot.h+13, least.X, plot.x+plot.w, plot.y+plot.h+13, greatest.X)
}
