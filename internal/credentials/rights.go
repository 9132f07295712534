// Package credentials makes what the parts of a fleet know each other by: users of NATS with the rights of each role, and
// passwords of ClickHouse and Grafana, all as files.
package credentials

import (
	"slices"
	"strconv"
	"strings"

	"github.com/tensortap/tensortap/pipelines"
	"github.com/tensortap/tensortap/schemas"
)

// Names of roles.
const (
	Consume  = "consume"
	Judge    = "judge"
	Alert    = "alert"
	Serve    = "serve" // answers questions
	Agent    = "agent" // publishes any run
	Reader   = "reader"
	Operator = "operator"
	Admin    = "admin"
	producer = "producer" // publishes one run
)

// Roles are those of whom there is one user each. One more line adds a role; its rights go into rightsOf.
func Roles() []string { return []string{Consume, Judge, Alert, Serve, Agent, Reader, Operator, Admin} }

// Rights are what a user of NATS may publish and hear, beside answers to what it asked.
type Rights struct {
	Publish, Deny, Hear []string
	Answers             bool // it may answer who asks it
}

// Buckets and streams, as JetStream names them.
const (
	sources = "KV_" + pipelines.SourceBucket
	leases  = "KV_" + pipelines.LeaseBucket
	fates   = "KV_" + pipelines.FateBucket
)

// toCount is how is asked who stores the stream.
const toCount = "$JS.API.CONSUMER.LIST." + pipelines.StreamName

// judged are the kinds of events that say what was found out about runs. No producer may say so.
func judged() []string {
	return []string{
		schemas.Verdict().Kind(), schemas.LayerError().Kind(), schemas.Origin().Kind(), schemas.JudgedStep().Kind(), schemas.Alignment().Kind(),
		schemas.Finding().Kind(), schemas.Comparison().Kind(), schemas.PayloadError().Kind(), schemas.Baseline().Kind(),
	}
}

// notProduced are the kinds that no producer may publish, of its own run neither: what judges, operators and the alert role say, and what a
// database holds that excuses ops of all runs.
func notProduced() []string {
	return append(judged(), schemas.DeclaredComparison().Kind(), schemas.KnownException().Kind(), schemas.Alert().Kind(), schemas.Audit().Kind())
}

// rightsOf are the rights of a role, of a producer those for its run.
func rightsOf(role, run string) Rights {
	switch role {
	case Consume:
		return rightsToStore()
	case Judge:
		return rightsToJudge()
	case Alert:
		return rightsToAlert()
	case Serve:
		return rightsToServe()
	case Agent:
		return rightsToServeHost()
	case producer:
		return rightsToProduce(schemas.FormatID(schemas.RunID(run)))
	case Operator:
		return rightsToOperate()
	case Admin:
		return Rights{Publish: []string{">"}, Hear: []string{">"}}
	default:
		return Rights{Publish: slices.Concat(toRead(), toCompare())}
	}
}

// toRead is what who reads the database asks of the stream: whether the database holds all of it, and which runs are to stay.
func toRead() []string {
	return append(toFollow(fates), api("STREAM.INFO", pipelines.StreamName), api("CONSUMER.INFO", pipelines.StreamName, "*"))
}

// toCompare is what who compares stored runs asks besides: what was published of them.
func toCompare() []string {
	return append(toFollow(sources), bucket(pipelines.SourceBucket, ">")[1])
}

// toFollow is how a bucket that is there is read whole.
func toFollow(stream string) []string {
	return append(toWatch(stream), "$JS.FC."+stream+".>")
}

// toWatch is how a bucket is found, and a consumer of it made and removed.
func toWatch(stream string) []string {
	return []string{api("STREAM.INFO", stream), api("CONSUMER.CREATE", stream, ">"), api("CONSUMER.INFO", stream, "*"), api("CONSUMER.DELETE", stream, "*")}
}

// toShare is how roles share their work.
func toShare() []string {
	return slices.Concat([]string{"$JS.API.INFO", api("STREAM.INFO", leases), api("STREAM.CREATE", leases), api("STREAM.PURGE", leases)}, bucket(pipelines.LeaseBucket, ">"))
}

// toReject is how a message that no stream takes is put aside.
func toReject() []string {
	return []string{"dead.publisher", "tap." + schemas.DeadLetter().Kind() + ".*.*"}
}

// rightsToProduce are those of who publishes a run, or all of them. It makes no consumer: who may can have messages delivered
// under any subject.
func rightsToProduce(run string) Rights {
	r := Rights{
		Publish: slices.Concat(
			[]string{"tap.*." + run + ".*", api("STREAM.INFO", pipelines.StreamName), api("STREAM.INFO", sources)},
			bucket(pipelines.SourceBucket, run+".>"), bucket(pipelines.SourceBucket, "beside."+run+".>"), []string{"dead.publisher"}, fateOf(run),
		),
		Hear:    []string{pipelines.ControlSubjects + run},
		Answers: true,
	}
	for _, kind := range notProduced() {
		r.Deny = append(r.Deny, "tap."+kind+".>")
	}
	return r
}

// rightsToServeHost are those of who publishes what any run records on a host, and removes what the host keeps of deleted runs.
func rightsToServeHost() Rights {
	r := rightsToProduce("*")
	r.Publish = append(r.Publish, api("DIRECT.GET", fates), "$JS.API.INFO") // a client asks so where there is no bucket yet
	return r
}

// fateOf is how is asked whether a run was deleted.
func fateOf(run string) []string {
	return []string{api("STREAM.INFO", fates), bucket(pipelines.FateBucket, run)[1]}
}

// rightsToStore are those of the consumers, which also set up the streams and mend them.
func rightsToStore() Rights {
	publish := slices.Concat(toShare(), toRead(), []string{
		"tap.>", "dead.>", "$JS.ACK." + pipelines.StreamName + ".>",
		api("STREAM.MSG.GET", pipelines.StreamName), api("DIRECT.GET", pipelines.StreamName), api("STREAM.UPDATE", leases),
	}, bucket(pipelines.SourceBucket, ">"), toRemove())
	for _, stream := range []string{pipelines.StreamName, pipelines.DeadStreamName, sources} {
		for _, verb := range []string{"STREAM.INFO", "STREAM.CREATE", "STREAM.UPDATE"} {
			publish = append(publish, api(verb, stream))
		}
	}
	for _, stream := range []string{pipelines.StreamName, sources} {
		publish = append(publish, api("CONSUMER.CREATE", stream, ">"))
		for _, verb := range []string{"CONSUMER.INFO", "CONSUMER.DELETE", "CONSUMER.MSG.NEXT", "CONSUMER.RESET"} {
			publish = append(publish, api(verb, stream, "*"))
		}
	}
	return Rights{Publish: publish, Hear: []string{pipelines.HealSubject, pipelines.MeasureSubject}, Answers: true}
}

// toRemove is how who stores the stream removes deleted runs, and notes how far that is.
func toRemove() []string {
	return append(bucket(pipelines.FateBucket, "*"), toCount, api("STREAM.CREATE", fates), api("STREAM.UPDATE", fates),
		api("STREAM.PURGE", pipelines.StreamName), api("STREAM.PURGE", sources))
}

func rightsToJudge() Rights {
	publish := slices.Concat(toRead(), toCompare(), toShare(), toReject())
	for _, kind := range append(judged(), schemas.Layout().Kind(), schemas.DeclaredComparison().Kind()) {
		publish = append(publish, "tap."+kind+".*.*")
	}
	return Rights{Publish: publish, Deny: []string{"tap." + schemas.Baseline().Kind() + ".>"}}
}

// rightsToAlert are those of who looks at everything, and tells people.
func rightsToAlert() Rights {
	return Rights{Publish: slices.Concat(
		toRead(), toShare(), toReject(), toList(pipelines.AlertBucket), bucket(pipelines.AlertBucket, ">"),
		fateOf("*"),
		[]string{"tap." + schemas.Alert().Kind() + ".*.*", api("STREAM.MSG.GET", pipelines.StreamName), toCount},
	)}
}

// rightsToServe are those of who compares runs for others, and tells them what is new.
func rightsToServe() Rights {
	r := rightsToCompare()
	r.Deny = []string{"tap." + schemas.Baseline().Kind() + ".>"}
	return r
}

// rightsToCompare are those of who asks everything, and publishes what came of comparisons.
func rightsToCompare() Rights {
	publish := slices.Concat(toRead(), toCompare(), toReject(), []string{toCount, api("STREAM.MSG.GET", pipelines.StreamName)})
	for _, kind := range append(judged(), schemas.Layout().Kind(), schemas.DeclaredComparison().Kind()) {
		publish = append(publish, "tap."+kind+".*.*")
	}
	return Rights{Publish: publish}
}

// toList is how a bucket is made, and its keys are listed.
func toList(name string) []string {
	stream := "KV_" + name
	return append(toWatch(stream), "$JS.API.INFO", api("STREAM.CREATE", stream))
}

// toAccount is how who does something writes it down.
func toAccount() string { return schemas.Subject(schemas.Audit().Kind(), 0, schemas.NoRank) }

// rightsToOperate are those of who asks living processes, sets baselines, compares stored runs, and measures and deletes them. It asks
// what the stream holds: who may make a consumer of events can have them delivered under any subject.
func rightsToOperate() Rights {
	r := rightsToCompare()
	r.Publish = slices.Concat(r.Publish, toList(pipelines.AlertBucket), bucket(pipelines.AlertBucket, "silence.*"), toList(pipelines.FateBucket), bucket(pipelines.FateBucket, "*"), []string{
		toAccount(), pipelines.ControlSubjects + "*", pipelines.HealSubject, pipelines.MeasureSubject,
	})
	return r
}

// bucket is how keys of that form are read and written.
func bucket(name, keys string) []string {
	key := "$KV." + name + "." + keys
	return []string{key, "$JS.API.DIRECT.GET.KV_" + name + "." + key}
}

func api(words ...string) string {
	return "$JS.API." + strings.Join(words, ".")
}

// quoted is a list as the server's configuration has it.
func quoted(subjects []string) string {
	var text strings.Builder
	for _, subject := range subjects {
		text.WriteString("\n          " + strconv.Quote(subject))
	}
	return "[" + text.String() + "\n        ]"
}
