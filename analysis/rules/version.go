// Package rules names the rules of a comparison: how tensors pair, how a pair is
// judged, and where a difference began. A comparison that was judged by other
// rules is another one, so that new rules are not taken for a new fault.
package rules

// Version is the number of the rules. Whoever changes an answer of a comparison raises it by one: then comparisons that
// were judged before are judged again. A test says when an answer about recorded runs has changed.
//
// A change that keeps all answers keeps the number. Versions before 50 were hashes of the code: great numbers.
const Version uint64 = 50
