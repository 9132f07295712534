package schemas

import (
	"fmt"
	"strconv"
	"strings"
)

// Values of collective.state, in the order of a call's life.
const (
	CollectiveCalled    = "called"    // the rank is inside the call
	CollectiveScheduled = "scheduled" // the call has returned, and is not known to be done
	CollectiveStarted   = "started"
	CollectiveFailed    = "failed" // the call raised
	CollectiveCompleted = "completed"
)

// Collective is one rank's part of a collective operation, or of a message to one peer.
func Collective() Table {
	return Table{
		Name: "collective", Version: 1, Class: Measurement, Beside: true,
		Key: []string{"run_id", "process_group", "group_seq", "rank", "seq"},
		Doc: "One row per state of a call of a collective by a rank, or of a send or receive: with what it came, and how far it got. Of a call seen at its begin and at its end there are two rows.",
		Columns: measurement(
			Column{Name: "step", Type: Uint32, Unit: Ordinal, Nullable: true, Doc: "Step of the rank; null when the source does not say."},
			Column{Name: "seq", Type: Uint64, Unit: Ordinal, Doc: "Order of the rows within the epoch."},
			Column{Name: "process_group", Type: String, Unit: None, Doc: "Process group, the same on all its ranks: its description and its ranks."},
			Column{Name: "group_ranks", Type: Int64s, Unit: Ordinal, Doc: "Global ranks of the group, in order; empty when not known."},
			Column{Name: "group_seq", Type: Uint64, Unit: Ordinal, Doc: "Number of the call within the group, which joins its ranks."},
			Column{Name: "point_to_point", Type: Uint8, Unit: None, Doc: "1 for a send or receive, which has a number of its own."},
			Column{Name: "name", Type: String, Unit: None, Doc: "all_reduce, all_gather, send and so on."},
			Column{Name: "state", Type: String, Unit: None, Doc: "called (the rank is inside the call), scheduled (it has returned, and is not known to be done), started, failed (it raised) or completed, as far as was seen."},
			Column{Name: "inputs", Type: String, Unit: None, Doc: "Dtypes and shapes of what the rank gave, as text; empty when not known."},
			Column{Name: "outputs", Type: String, Unit: None, Doc: "Dtypes and shapes of what it gets."},
			Column{Name: "started_time_ns", Type: Int64, Unit: Nanoseconds, Nullable: true, Doc: "When it was seen to have started; the event's time is that of the call. Null when it was not seen."},
			Column{Name: "completed_time_ns", Type: Int64, Unit: Nanoseconds, Nullable: true, Doc: "When it was seen to be complete; null when it was not."},
			Column{Name: "timeout_ns", Type: Int64, Unit: Nanoseconds, Nullable: true, Doc: "After which time the group gives up; null when not known."},
			Column{Name: "stack_id", Type: Uint64, Unit: Hash, Doc: "Call stack (stack); 0 when not known."},
		),
	}
}

// unnamedGroup is the description that PyTorch gives a group whose maker gave none.
const unnamedGroup = "undefined"

// mostRanges bounds the ranks in a group's name.
const mostRanges = 8

// ProcessGroupName is a name that all ranks of a group have for it: its description and its ranks in order, and behind them
// how many groups of the same kind were made before it, when there were any.
func ProcessGroupName(description string, ranks []int64, before int) string {
	var words []string
	if description != "" && description != unnamedGroup {
		words = append(words, description)
	}
	if len(ranks) > 0 {
		words = append(words, "["+rankRanges(ranks)+"]")
	}
	if len(words) == 0 {
		words = append(words, unnamedGroup)
	}
	if before > 0 {
		words = append(words, fmt.Sprintf("(%d)", before+1))
	}
	return strings.Join(words, " ")
}

// rankRanges writes 0, 1, 2, 5 as 0-2, 5; of many ranges the first ones, the number of ranks, and a hash of all.
func rankRanges(ranks []int64) string {
	var ranges []string
	for i := 0; i < len(ranks); {
		last := i
		for last+1 < len(ranks) && ranks[last+1] == ranks[last]+1 {
			last++
		}
		text := strconv.FormatInt(ranks[i], 10)
		if last > i {
			text += "-" + strconv.FormatInt(ranks[last], 10)
		}
		ranges = append(ranges, text)
		i = last + 1
	}
	if len(ranges) > mostRanges {
		ranges = append(ranges[:mostRanges-1:mostRanges-1], fmt.Sprintf("… %d ranks, %.4s", len(ranks), FormatID(hashFields(ranges...))))
	}
	return strings.Join(ranges, ", ")
}

// mostCollectiveTensors bounds the text of a call's tensors.
const mostCollectiveTensors = 16

// CollectiveTensors writes dtypes with shapes as one text, of equal neighbours one with their number.
func CollectiveTensors(tensors []string) string {
	var words []string
	for i := 0; i < len(tensors) && len(words) < mostCollectiveTensors; {
		count := 1
		for i+count < len(tensors) && tensors[i+count] == tensors[i] {
			count++
		}
		word := tensors[i]
		if count > 1 {
			word = fmt.Sprintf("%d x %s", count, word)
		}
		words = append(words, word)
		i += count
	}
	text := strings.Join(words, ", ")
	if len(words) == mostCollectiveTensors {
		text += fmt.Sprintf(" … %d in all", len(tensors))
	}
	return text
}
