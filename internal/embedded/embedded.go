// Package embedded runs the services of a fleet for one machine: a NATS server with JetStream in this process (NATS)
// and ClickHouse in a child process behind a guard (Engine). Both listen on loopback only, with random ports and
// passwords, keep everything in a folder of their own, and are restarted when they fail.
//
// Engine needs ClickHouse as a shared library, which package libchdb pins, finds and installs. The child is this very
// executable: `tensortap engine serve` calls RunEngine.
package embedded
