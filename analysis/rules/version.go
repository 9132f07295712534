// Package rules names the rules of a comparison: how tensors pair, how a pair is
// judged, and where a difference began. A comparison that was judged by other
// rules is another one, so that new rules are not taken for a new fault.
package rules

// Version is a hash over the code that decides, without its comments. A test holds it against the code, and writes it.
const Version uint64 = 0x4954b1a095a5f5e3
