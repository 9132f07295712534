package system

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/tensortap/tensortap/analysis/msprobe/msprobeoverflow"
	"github.com/tensortap/tensortap/analysis/report"
	"github.com/tensortap/tensortap/internal/steps"
)

// What msProbe's overflow_check looks at, op by op: the first level of inputs and outputs.
const overflowOpsQuery = `WITH
    position(path, '.') = 0 AND path != '' AS is_first_level,
    is_tensor AND is_first_level AND (isFinite(statistics[1]) = 0 OR isFinite(statistics[2]) = 0) AS is_bad
SELECT
    rank,
    op,
    countIf(role IN ('input', 'kwarg') AND is_bad) > 0 AS input_bad,
    countIf(role = 'output' AND is_bad) > 0 AS output_bad,
    toInt64OrNull(maxIf(value_text, role = 'kwarg' AND path IN ('src', 'src_group'))) AS source,
    toInt64OrNull(maxIf(value_text, role = 'kwarg' AND path IN ('dst', 'dst_group'))) AS destination,
    arrayMap(pair -> pair.2, arraySort(groupArrayIf((seq, toInt64OrZero(value_text)), role = 'input' AND is_first_level AND dtype_text = '<class \'int\'>'))) AS numbers,
    JSONExtract(maxIf(value_text, role = 'kwarg' AND path = 'group'), 'Array(Int64)') AS group_ranks
FROM tap.msprobe_rows(run = {run:String}, rank = -1, first_step = {step:Int64}, last_step = {step:Int64})
GROUP BY
    rank,
    op
ORDER BY
    rank,
    min(seq)`

const overflowStepsQuery = `SELECT DISTINCT toInt64(step) AS step FROM tap.steps
WHERE run_id = xxh3(concat({run:String}, char(31))) AND step >= {first_step:Int64} AND ({last_step:Int64} = -1 OR step <= {last_step:Int64})
ORDER BY step`

// WriteMsprobeOverflow writes where NaN or infinity began as msProbe's
// overflow_check does, of the first step where its rules find anything, and
// says whether they do: if not, it writes nothing, as msProbe then has no file.
func (c *Client) WriteMsprobeOverflow(ctx context.Context, to io.Writer, run string, wanted steps.Set) (found bool, err error) {
	table, err := c.Table(ctx, overflowStepsQuery, map[string]string{
		"run": run, "first_step": strconv.FormatInt(wanted.First(), 10), "last_step": strconv.FormatInt(wanted.Last(), 10),
	})
	if err != nil {
		return false, err
	}
	for i := range table.Rows {
		if !wanted.Contains(int64(table.Get(i, "step").Number)) {
			continue
		}
		step := table.Get(i, "step").Exact
		origins, err := c.msprobeOrigins(ctx, run, step)
		if err != nil {
			return false, err
		}
		if len(origins) > 0 {
			return true, c.writeOrigins(ctx, to, run, step, origins)
		}
	}
	return false, nil
}

func (c *Client) msprobeOrigins(ctx context.Context, run, step string) ([]msprobeoverflow.Origin, error) {
	table, err := c.Table(ctx, overflowOpsQuery, map[string]string{"run": run, "step": step})
	if err != nil {
		return nil, err
	}
	ops := make([]msprobeoverflow.Op, len(table.Rows))
	for i := range ops {
		if ops[i], err = overflowOp(table, i); err != nil {
			return nil, fmt.Errorf("read op %d of run %s, step %s: %w", i, run, step, err)
		}
	}
	return msprobeoverflow.Find(ops), nil
}

func overflowOp(table report.Table, i int) (msprobeoverflow.Op, error) {
	rank, err := strconv.ParseUint(table.Get(i, "rank").Exact, 10, 32)
	if err != nil {
		return msprobeoverflow.Op{}, err
	}
	op := msprobeoverflow.Op{
		Rank: uint32(rank), Name: table.Get(i, "op").Exact,
		InputBad: table.Get(i, "input_bad").Number != 0, OutputBad: table.Get(i, "output_bad").Number != 0,
		Source: wholeNumber(table.Get(i, "source")), Destination: wholeNumber(table.Get(i, "destination")),
	}
	if err := json.Unmarshal([]byte(table.Get(i, "numbers").JSON), &op.Numbers); err != nil {
		return op, err
	}
	return op, json.Unmarshal([]byte(table.Get(i, "group_ranks").JSON), &op.Group)
}

func wholeNumber(v report.Value) *int64 {
	n, err := strconv.ParseInt(v.Exact, 10, 64)
	if v.Null || err != nil {
		return nil
	}
	return &n
}

func (c *Client) writeOrigins(ctx context.Context, to io.Writer, run, step string, origins []msprobeoverflow.Origin) error {
	root := msprobeoverflow.Object()
	for _, origin := range origins {
		node, err := c.originNode(ctx, run, step, origin)
		if err != nil {
			return err
		}
		list := msprobeoverflow.List()
		list.Items = append(list.Items, node)
		root.Set(fmt.Sprintf("rank_%d", origin.Rank), list)
	}
	return msprobeoverflow.Write(to, root)
}

const (
	originTensorsQuery = `SELECT role, path, kind, dtype, toJSONString(shape) AS shape_json, requires_grad, literal, value_max, value_min, value_mean, value_l2
FROM tap.tensors
WHERE run = {run:String} AND rank = {rank:Int64} AND step = {step:Int64} AND op = {op:String} AND role IN ('input', 'kwarg', 'output')
ORDER BY seq`

	originParentsQuery = `SELECT o.name AS op, p.name AS parent FROM tap.steps AS s
INNER JOIN tap.programs AS g ON g.program_id = s.program_id
INNER JOIN tap.ops AS o ON o.op_id = g.op_id
INNER JOIN tap.ops AS p ON p.op_id = g.parent_op_id
WHERE s.run_id = xxh3(concat({run:String}, char(31))) AND s.rank = {rank:Int64} AND s.step = {step:Int64}
ORDER BY op`

	originStackQuery = `SELECT arrayJoin(f.frames) AS frame FROM tap.steps AS s
INNER JOIN tap.programs AS g ON g.program_id = s.program_id
INNER JOIN tap.program_stacks AS c ON c.run_id = s.run_id AND c.program_id = g.program_id AND c.position = g.position
INNER JOIN tap.stacks AS f ON f.stack_id = c.stack_id
WHERE s.run_id = xxh3(concat({run:String}, char(31))) AND s.rank = {rank:Int64} AND s.step = {step:Int64} AND g.op_id = xxh3(concat({op:String}, char(31)))`
)

// originNode is all that msProbe says of one op.
func (c *Client) originNode(ctx context.Context, run, step string, origin msprobeoverflow.Origin) (*msprobeoverflow.Node, error) {
	parameters := map[string]string{"run": run, "step": step, "rank": strconv.FormatUint(uint64(origin.Rank), 10)}
	parents, err := c.Table(ctx, originParentsQuery, parameters)
	if err != nil {
		return nil, err
	}
	parameters["op"] = origin.Op
	tensors, err := c.Table(ctx, originTensorsQuery, parameters)
	if err != nil {
		return nil, err
	}
	stack, err := c.Table(ctx, originStackQuery, parameters)
	if err != nil {
		return nil, err
	}
	node := msprobeoverflow.Object()
	node.Set("op_name", msprobeoverflow.Text(origin.Op))
	node.Set("data_info", dataInfo(origin.Op, tensors))
	node.Set("construct_info", msprobeoverflow.Texts(ancestry(origin.Op, parents)))
	frames := make([]string, len(stack.Rows))
	for i := range frames {
		frames[i] = stack.Get(i, "frame").Exact
	}
	stackNode := msprobeoverflow.Texts(frames)
	if len(frames) == 0 {
		stackNode = msprobeoverflow.Object()
	}
	node.Set("stack_info", stackNode)
	return node, nil
}

// ancestry is the op with the modules around it, the outermost first.
func ancestry(op string, parents report.Table) []string {
	above := map[string]string{}
	for i := range parents.Rows {
		above[parents.Get(i, "op").Exact] = parents.Get(i, "parent").Exact
	}
	chain, seen := []string{op}, map[string]bool{op: true}
	for at := above[op]; at != "" && !seen[at]; at = above[at] {
		seen[at] = true
		chain = append([]string{at}, chain...)
	}
	return chain
}

// dataInfo is what the dump says of the op's inputs and outputs.
func dataInfo(op string, tensors report.Table) *msprobeoverflow.Node {
	inputs, keywords, outputs := msprobeoverflow.List(), msprobeoverflow.Object(), msprobeoverflow.List()
	for i := range tensors.Rows {
		to := map[string]*msprobeoverflow.Node{"input": inputs, "kwarg": keywords, "output": outputs}[tensors.Get(i, "role").Exact]
		to.Put(tensors.Get(i, "path").Exact, leafNode(tensors, i))
	}
	info := msprobeoverflow.Object()
	if strings.Contains(op, "forward") {
		info.Set("input_args", inputs)
		info.Set("input_kwargs", keywords)
	} else {
		info.Set("input", inputs)
	}
	info.Set("output", outputs)
	return info
}

func leafNode(tensors report.Table, i int) *msprobeoverflow.Node {
	kind, dtype, literal := tensors.Get(i, "kind").Exact, tensors.Get(i, "dtype").Exact, tensors.Get(i, "literal").Exact
	node := msprobeoverflow.Object()
	switch kind {
	case "none":
		return &msprobeoverflow.Node{Text: "null"}
	case "tensor":
		return tensorNode(tensors, i, dtype, literal)
	case "int", "float", "bool", "slice", "size":
		node.Set("type", msprobeoverflow.Text(argumentType(kind, dtype)))
		node.Set("value", &msprobeoverflow.Node{Text: literal})
	case "group":
		node.Set("type", msprobeoverflow.Text(argumentType(kind, dtype)))
		node.Set("value", &msprobeoverflow.Node{Text: literal})
	default:
		node.Set("type", msprobeoverflow.Text(argumentType(kind, dtype)))
		node.Set("value", msprobeoverflow.Text(literal))
	}
	return node
}

// argumentType is the type that msProbe names.
func argumentType(kind, dtype string) string {
	names := map[string]string{"size": "torch.Size", "dtype": "torch.dtype", "device": "torch.device", "group": "torch.ProcessGroup"}
	switch {
	case dtype != "":
		return dtype
	case names[kind] != "":
		return names[kind]
	}
	return kind
}

func tensorNode(tensors report.Table, i int, dtype, class string) *msprobeoverflow.Node {
	node := msprobeoverflow.Object()
	if class == "" {
		class = "torch.Tensor"
	}
	node.Set("type", msprobeoverflow.Text(class))
	node.Set("dtype", msprobeoverflow.Text(dtype))
	node.Set("shape", shapeNode(tensors.Get(i, "shape_json").Exact))
	for _, s := range [][2]string{{"Max", "value_max"}, {"Min", "value_min"}, {"Mean", "value_mean"}, {"Norm", "value_l2"}} {
		node.Set(s[0], statisticNode(tensors.Get(i, s[1]), dtype))
	}
	if grad := tensors.Get(i, "requires_grad"); !grad.Null {
		node.Set("requires_grad", &msprobeoverflow.Node{Text: strconv.FormatBool(grad.Number != 0)})
	}
	return node
}

func shapeNode(text string) *msprobeoverflow.Node {
	list := msprobeoverflow.List()
	for size := range strings.SplitSeq(strings.Trim(text, "[]"), ",") {
		if size != "" {
			list.Items = append(list.Items, &msprobeoverflow.Node{Text: strings.Trim(size, `"`)})
		}
	}
	return list
}

func statisticNode(v report.Value, dtype string) *msprobeoverflow.Node {
	switch {
	case v.Null:
		return &msprobeoverflow.Node{Text: "null"}
	case dtype == "torch.bool":
		return &msprobeoverflow.Node{Text: strconv.FormatBool(v.Number != 0)}
	}
	return msprobeoverflow.Number(v.Number, strings.Contains(dtype, "int"))
}
