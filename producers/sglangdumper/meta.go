package sglangdumper

import (
	"encoding/json"
	"math"
	"strings"

	"github.com/tensortap/tensortap/internal/torchfile"
	"github.com/tensortap/tensortap/producers/internal/saved"
	"github.com/tensortap/tensortap/schemas"
)

// content is the content of a file.
type content struct {
	value any
	meta  torchfile.Dict // empty in old files, which are the value alone
}

func contentOf(value any) content {
	dict, _ := value.(torchfile.Dict)
	meta, ok := dict.Get("meta").(torchfile.Dict)
	if !ok {
		return content{value: value}
	}
	return content{value: dict.Get("value"), meta: meta}
}

// text is an entry of the meta as text, empty when there is none.
func (c content) text(key string) string {
	text, _ := c.meta.Get(key).(string)
	return text
}

// number is an entry of the meta, or of a group of its entries; -1 when there is none.
func number(of torchfile.Dict, key string) int64 {
	if n, ok := of.Get(key).(int64); ok {
		return n
	}
	return -1
}

// parallel returns the places of the ranks by the engine, and the name under which it gave them.
func (c content) parallel() (string, torchfile.Dict) {
	for _, item := range c.meta {
		name, _ := item.Key.(string)
		group, isDict := item.Value.(torchfile.Dict)
		if isDict && strings.HasSuffix(name, "_parallel_info") {
			return name, group
		}
	}
	return "", nil
}

// firstMeta is the meta of the first file that can be read.
func (d *Dump) firstMeta() content {
	for i := range d.files {
		if value, err := saved.Read(d.Dir, d.files[i].File); err == nil {
			return content{meta: contentOf(value).meta}
		}
	}
	return content{}
}

// rankRow is the rank with the coordinates that its files give it.
func (d *Dump) rankRow(id schemas.Identity) schemas.RankRow {
	row := schemas.RankRow{
		RunID: id.RunID, Rank: id.Rank, Epoch: id.Epoch,
		TP: -1, PP: -1, DP: -1, CP: -1, EP: -1, TPSize: -1, PPSize: -1, DPSize: -1, CPSize: -1, EPSize: -1,
	}
	_, group := d.firstMeta().parallel()
	for _, axis := range []struct {
		name     string
		at, size *int16
	}{
		{"tp", &row.TP, &row.TPSize},
		{"pp", &row.PP, &row.PPSize},
		{"dp", &row.DP, &row.DPSize},
		{"attn_dp", &row.DP, &row.DPSize},
		{"cp", &row.CP, &row.CPSize},
		{"attn_cp", &row.CP, &row.CPSize},
		{"ep", &row.EP, &row.EPSize},
		{"moe_ep", &row.EP, &row.EPSize},
	} {
		at, size := number(group, axis.name+"_rank"), number(group, axis.name+"_size")
		if at >= 0 && size > at && size <= math.MaxInt16 {
			*axis.at, *axis.size = int16(at), int16(size) //nolint:gosec // that was looked at
		}
	}
	return row
}

// RunRow describes a run by its first readable file.
func RunRow(found Found, name string, labels map[string]string) schemas.RunRow {
	row := schemas.RunRow{
		RunID: schemas.RunID(name), Name: name, Source: schemas.SourceSGLangDumper, Framework: "pytorch", Task: "tensor",
		Labels: labels, EventTimeSource: "file",
	}
	if len(found.Dumps) == 0 {
		return row
	}
	row.FirstEventTimeNs = found.Dumps[0].ModTimeNs
	for _, d := range found.Dumps {
		row.FirstEventTimeNs = min(row.FirstEventTimeNs, d.ModTimeNs)
	}
	first := found.Dumps[0].firstMeta()
	engine, group := first.parallel()
	row.Engine = strings.TrimSuffix(engine, "_parallel_info")
	row.Config = config(first.text("tokenizer_path"), group)
	if size := number(first.meta, "world_size"); size > 0 && size <= math.MaxUint32 {
		world := uint32(size)
		row.WorldSize = &world
	}
	row.Epoch = schemas.DescriptionID(row)
	return row
}

// config has possible causes of a difference of two runs: the sizes of parallel groups, and the tokenizer.
func config(tokenizer string, group torchfile.Dict) string {
	said := map[string]any{}
	if tokenizer != "" {
		said["tokenizer_path"] = tokenizer
	}
	for _, item := range group {
		name, _ := item.Key.(string)
		switch item.Value.(type) {
		case int64, bool, string:
			if !strings.HasSuffix(name, "_rank") {
				said[name] = item.Value
			}
		}
	}
	if len(said) == 0 {
		return ""
	}
	text, _ := json.Marshal(said) // of texts, whole numbers and truth values
	return string(text)
}
