package logline

import (
	"regexp"
	"strconv"
	"strings"
)

// Kinds of lines.
const (
	Traceback     = "traceback"
	PySpy         = "py-spy dump" // where the threads of a process are, as seen from outside
	SGLangDecode  = "sglang decode batch"
	SGLangPrefill = "sglang prefill batch"
	SGLangNaN     = "sglang nan in logits"
	Watchdog      = "watchdog timeout"
	VLLMStats     = "vllm stats"
	VLLMIteration = "vllm iteration"
	VLLMDump      = "vllm dump"
	VLLMFatal     = "vllm fatal error"
	VLLMRequest   = "vllm request"
	Megatron      = "megatron iteration"
	MegatronRerun = "megatron rerun"
	ForwardPass   = "forward pass"
	HuggingFace   = "huggingface metrics"
	Training      = "training numbers"
)

// findKind tells the line by how its message begins, and reads its pairs.
func (r *Record) findKind() {
	m := r.Message
	if m == "" || r.Kind != "" {
		return
	}
	switch m[0] {
	case 'D', 'P':
		r.batch(m)
	case 'E', 'A', 'I':
		r.vllm(m)
	case 'R':
		r.received(m)
	case '{':
		r.object(m)
	case 't', 'i', ' ':
		r.megatron(m)
	}
	switch {
	case r.Kind != "":
	case strings.Contains(m, " watchdog timeout ("):
		r.Kind = Watchdog
	case strings.Contains(m, "loss") || strings.Contains(m, "Loss") || strings.Contains(m, "grad_norm") || strings.Contains(m, "lr"):
		r.training(m)
	}
}

// batch is a line of SGLang's scheduler, or one of those that begin likewise.
func (r *Record) batch(m string) {
	switch {
	case strings.HasPrefix(m, "Decode batch"):
		r.Kind, m = SGLangDecode, m[len("Decode batch"):]
	case strings.HasPrefix(m, "Prefill batch"):
		r.Kind, m = SGLangPrefill, m[len("Prefill batch"):]
	case strings.HasPrefix(m, "Detected errors during sampling! NaN"):
		r.Kind = SGLangNaN
		return
	case strings.HasPrefix(m, "Dumping input data"), strings.HasPrefix(m, "Dumping scheduler "):
		r.Kind = VLLMDump
		r.called(m)
		return
	default:
		return
	}
	if inside, rest, found := strings.Cut(m, "]"); found && strings.HasPrefix(inside, " [") {
		r.setStep(inside[2:])
		m = rest
	}
	r.pairs(strings.TrimLeft(m, ", "), ", ", ": ")
}

func (r *Record) setStep(text string) {
	if n, err := strconv.ParseUint(strings.TrimSpace(text), 10, 32); err == nil {
		r.Step = int64(n) //nolint:gosec // of 32 bits
	}
}

// mostEngine is how many bytes may stand before what an engine of several says.
const mostEngine = len("Engine 0000: ")

// vllm is a line of throughput, of an iteration, or of the engine's end.
func (r *Record) vllm(m string) {
	if strings.HasPrefix(m, "EngineCore encountered a fatal error") {
		r.Kind = VLLMFatal
		return
	}
	if at := strings.Index(m, "Iteration("); at >= 0 && at <= mostEngine {
		r.iteration(m[at+len("Iteration("):])
		return
	}
	at := strings.Index(m, "Avg prompt throughput: ")
	if at < 0 || at > mostEngine {
		return
	}
	r.Kind = VLLMStats
	for one := range strings.SplitSeq(m[at:], ", ") {
		key, value, found := strings.Cut(one, ": ")
		if !found {
			continue
		}
		value, _, _ = strings.Cut(value, " ") // without its unit
		r.pair(key, value)
	}
}

// called reads the numbers of "Name(key=1, other=2)".
func (r *Record) called(m string) {
	_, inside, found := strings.Cut(m, ": ")
	if !found || !strings.HasPrefix(m, "Dumping scheduler stats") {
		return
	}
	if _, arguments, open := strings.Cut(inside, "("); open {
		r.pairs(strings.TrimSuffix(arguments, ")"), ", ", "=")
	}
}

// received is "Received request cmpl-1: prompt: 'x', params: …" of vLLM. Prompts are personal data.
func (r *Record) received(m string) {
	rest, found := strings.CutPrefix(m, "Received request ")
	if !found {
		return
	}
	name, rest, _ := strings.Cut(rest, ":")
	if name == "" || strings.Contains(name, " ") {
		return
	}
	r.Kind, r.Request = VLLMRequest, name
	r.hide(rest, "prompt: ", ", params: ")
}

// hide leaves what is between out of the text.
func (r *Record) hide(in, from, to string) {
	at, end := strings.Index(in, from), strings.LastIndex(in, to)
	if at < 0 {
		return
	}
	if end < at {
		end = len(in)
	}
	begin := max(0, strings.LastIndex(r.Text, in))
	r.Text = r.Text[:begin+at] + from + "(left out)" + in[end:]
}

// object is a dictionary of Hugging Face's trainer, a line of JSON of SGLang's log of requests, or one of a forward pass.
func (r *Record) object(m string) {
	switch {
	case strings.HasPrefix(m, "{'"):
		r.dictionary(m)
	case strings.HasPrefix(m, `{"timestamp": "`) && strings.Contains(m, `"rid": "`):
		r.request(m)
	case strings.Contains(m, signOfPass):
		r.forwardPass(m)
	}
}

func isOfTrainer(m string) bool {
	for _, key := range []string{"loss'", "'grad_norm'", "'learning_rate'", "_runtime'"} {
		if strings.Contains(m, key) {
			return true
		}
	}
	return false
}

func (r *Record) dictionary(m string) {
	inside, found := strings.CutSuffix(m[1:], "}")
	if !found || !isOfTrainer(m) {
		return
	}
	r.Kind = HuggingFace
	for one := range strings.SplitSeq(inside, ", ") {
		if key, value, found := strings.Cut(one, ": "); found {
			key, value = strings.Trim(key, "'\" "), strings.Trim(value, "'\" ")
			r.pair(key, value)
			if key == "step" {
				r.setStep(value)
			}
		}
	}
}

// request keeps which event it is, and of which request; the rest may hold the prompt, and `publish requests` reads it.
func (r *Record) request(m string) {
	event, rid := between(m, `"event": "`), between(m, `"rid": "`)
	if event == "" {
		return
	}
	r.Kind, r.Request = "sglang "+event, rid
	r.Text = r.Text[:max(0, strings.Index(r.Text, m))] + event + " " + rid
	r.pair("timestamp", between(m, `"timestamp": "`))
}

// megatron is a line of an iteration, or of the tracker of rejected results.
func (r *Record) megatron(m string) {
	m = strings.TrimLeft(m, " ")
	if rest, found := strings.CutPrefix(m, "iteration "); found && strings.Contains(m, "|") {
		of, rest, _ := strings.Cut(rest, "|")
		r.Kind = Megatron
		number, _, _ := strings.Cut(of, "/")
		r.setStep(number)
		r.pairs(rest, "|", ":")
		return
	}
	if strings.HasPrefix(m, "ts=") && strings.Contains(m, " iteration=") && strings.Contains(m, " result=") {
		r.rerun(m)
	}
}

func (r *Record) rerun(m string) {
	r.Kind = MegatronRerun
	facts, message, _ := strings.Cut(m, " message='")
	for fact := range strings.FieldsSeq(facts) {
		key, value, found := strings.Cut(fact, "=")
		switch {
		case !found:
		case key == "rank":
			number(value, "", &r.Where.Rank)
		case key == "node":
			r.Host = value
		case key == "iteration":
			r.setStep(value)
			r.pair(key, value)
		default:
			r.pair(key, value)
		}
	}
	r.Pairs = append(r.Pairs, Pair{Key: "message", Value: strings.TrimSuffix(message, "'")})
}

// numbersOfTraining are a loss, a rate or a norm with their number, and the step.
var numbersOfTraining = regexp.MustCompile(
	`(?i)\b([a-z_/.]*(?:loss|lr|learning[ _]rate|grad[ _]norm|gradient[ _]norm|perplexity|accuracy))\s*[:=]\s*([-+]?(?:\d[\d_]*\.?\d*(?:e[-+]?\d+)?|nan|inf))\b`)

var numberOfStep = regexp.MustCompile(`(?i)\b(?:global[ _])?(?:step|iter|iteration)\s*[:=#]?\s*\[?(\d{1,9})\b`)

const mostTraining = 4096 // bytes of a line in which such numbers are looked for

func (r *Record) training(m string) {
	m = m[:min(len(m), mostTraining)]
	if !strings.ContainsAny(m, ":=") {
		return
	}
	for _, found := range numbersOfTraining.FindAllStringSubmatch(m, -1) {
		r.pair(found[1], found[2])
	}
	if len(r.Pairs) == 0 {
		return
	}
	r.Kind = Training
	if step := numberOfStep.FindStringSubmatch(m); step != nil {
		r.setStep(step[1])
	}
}
