package torchfile

import (
	"archive/zip"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"path"
)

// Save writes the tensor as torch.save does. The name is that of the folder in the archive: torch takes that of the file.
func Save(to io.Writer, t *Tensor, name string) error {
	archive := zip.NewWriter(to)
	for _, part := range []struct {
		name  string
		write func(io.Writer) error
	}{
		{"data.pkl", t.writePickle},
		{"byteorder", word("little")},
		{"data/0", t.writeElements},
		{"version", word("3\n")},
	} {
		// Nothing is compressed, as torch refuses what is.
		member, err := archive.CreateHeader(&zip.FileHeader{Name: path.Join(name, part.name), Method: zip.Store})
		if err == nil {
			err = part.write(member)
		}
		if err != nil {
			return fmt.Errorf("write %s: %w", part.name, err)
		}
	}
	return archive.Close()
}

func word(text string) func(io.Writer) error {
	return func(to io.Writer) error {
		_, err := io.WriteString(to, text)
		return err
	}
}

// writeElements writes them in row-major order.
func (t *Tensor) writeElements(to io.Writer) error {
	elements, err := t.Elements()
	if err != nil {
		return err
	}
	buffer := make([]byte, 1<<20)
	for {
		n, err := elements.Read(buffer)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil {
			_, err = to.Write(buffer[:n*t.Dtype.Size()])
		}
		if err != nil {
			return err
		}
	}
}

// writePickle writes the program that makes the tensor of its storage, which is dense.
func (t *Tensor) writePickle(to io.Writer) error {
	count := int64(1)
	for _, n := range t.Shape {
		count *= n
	}
	p := pickling{0x80, 2}
	facts := t.Dtype.facts()
	if facts.storage != "" {
		p.global("torch._utils", "_rebuild_tensor_v2").mark()
		p.storage("torch", facts.storage, count)
	} else { // a dtype without a class of storages of its own
		p.global("torch._utils", "_rebuild_tensor_v3").mark()
		p.storage("torch.storage", "UntypedStorage", count*facts.size)
	}
	p.integer(0).integers(t.Shape).integers(denseStride(t.Shape, false))
	p = append(p, opFalse)
	p.global("collections", "OrderedDict")
	p = append(p, opEmptyTuple, opReduce)
	if facts.storage == "" {
		p.global("torch", facts.name)
	}
	p = append(p, opTuple, opReduce, opStop)
	_, err := to.Write(p)
	return err
}

// pickling is a pickle under way.
type pickling []byte

func (p *pickling) mark() *pickling {
	*p = append(*p, opMark)
	return p
}

func (p *pickling) global(module, name string) *pickling {
	*p = append(append(*p, opGlobal), module+"\n"+name+"\n"...)
	return p
}

func (p *pickling) text(s string) *pickling {
	*p = append(binary.LittleEndian.AppendUint32(append(*p, opText4), uint32(len(s))), s...) //nolint:gosec // a few letters
	return p
}

func (p *pickling) integer(n int64) *pickling {
	if n <= math.MaxInt32 {
		*p = binary.LittleEndian.AppendUint32(append(*p, opInt4), uint32(n)) //nolint:gosec // as checked, and never negative
		return p
	}
	*p = binary.LittleEndian.AppendUint64(append(*p, opLong1, 8), uint64(n)) //nolint:gosec // never negative
	return p
}

func (p *pickling) integers(numbers []int64) *pickling {
	p.mark()
	for _, n := range numbers {
		p.integer(n)
	}
	*p = append(*p, opTuple)
	return p
}

// storage refers to the one storage of the archive.
func (p *pickling) storage(module, class string, count int64) {
	p.mark().text("storage").global(module, class).text("0").text("cpu").integer(count)
	*p = append(*p, opTuple, opPersistent)
}
