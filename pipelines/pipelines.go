// Package pipelines moves messages from producers through the stream into
// sinks and loses none.
//
// The promises, and who keeps them:
//
//   - A [Publisher] forgets a message only when the stream has acknowledged it.
//     It sends again under the same id for as long as that takes.
//   - A [Delivery] acknowledges a message only after its [Sink] has made it
//     durable, or after it lies in the dead-letter stream with the reason.
//   - Memory is bounded by bytes everywhere: a slow store slows the stream's
//     delivery, a full stream slows its publishers.
//
// There are two failures. Unavailable: wait and try again, for ever.
// Malformed: dead-letter and go on.
package pipelines
