package elements

import (
	"encoding/json"
	"math"
	"slices"
	"strconv"
)

// numerals are numbers as JSON, with the digits that tell a value of the type from its neighbours; null is what is not there.
type numerals struct {
	values []float64
	bits   int
}

// MarshalJSON implements json.Marshaler.
func (n numerals) MarshalJSON() ([]byte, error) {
	to := append(make([]byte, 0, 8*len(n.values)+2), '[')
	for i, value := range n.values {
		if i > 0 {
			to = append(to, ',')
		}
		switch {
		case math.IsNaN(value):
			to = append(to, "null"...)
		case math.IsInf(value, 0): // a difference may be
			to = strconv.AppendQuote(to, map[bool]string{true: "Infinity", false: "-Infinity"}[value > 0])
		default:
			to = strconv.AppendFloat(to, value, 'g', -1, n.bits)
		}
	}
	return append(to, ']'), nil
}

// MarshalJSON implements json.Marshaler. Counts are left out where all are 0, extremes where a cell has one element.
func (p *Picture) MarshalJSON() ([]byte, error) {
	sides := []object{}
	for i := range p.Sides {
		sides = append(sides, p.side(&p.Sides[i]))
	}
	all := object{"slice": p.Window.String(), "elements": p.Window.Count(), "rows": p.Rows.object(), "columns": p.Columns.object(), "sides": sides}
	if p.Apart != nil {
		all["difference"] = object{"furthest": numerals{p.Apart.Furthest, 64}, "unlike": unlessZero(p.Apart.Unlike)}
	}
	return json.Marshal(all)
}

func (p *Picture) side(c *Cells) object {
	bits := bitsOf(c.Dtype)
	all := object{
		"dtype": c.Dtype.String(), "shape": append([]int64{}, c.Shape...), "mean": numerals{c.Mean, bits},
		"nan": unlessZero(c.NaN), "infinite": unlessZero(c.Infinite),
	}
	if p.Window.Count() > int64(len(c.Mean)) {
		all["least"], all["greatest"] = numerals{c.Least, bits}, numerals{c.Greatest, bits}
	}
	return all
}

func unlessZero(counts []int64) []int64 {
	if slices.ContainsFunc(counts, func(n int64) bool { return n != 0 }) {
		return counts
	}
	return []int64{}
}

func (e *Edge) object() object {
	return object{"axis": e.Axis, "from": e.From, "to": e.To, "cells": e.Cells}
}
