package forgetful

import (
	"context"
	"os"
	"syscall"
	"time"

	"github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"
)

// node is a file or folder in the server's memory. The names in a folder are kept by the library.
type node struct {
	fs.Inode

	tape     *tape
	number   uint64
	folder   bool
	mode     uint32
	data     []byte
	modified time.Time
}

func (t *tape) node(folder bool, mode uint32) *node {
	t.last++
	return &node{tape: t, number: t.last, folder: folder, mode: mode & 0o7777, modified: now()}
}

func now() time.Time { return time.Now() }

// handle is an open file. One that was opened to sync each write does so.
type handle struct{ syncs bool }

func handleFor(flags uint32) *handle {
	return &handle{syncs: flags&(syscall.O_SYNC|syscall.O_DSYNC) != 0}
}

func (n *node) fill(out *fuse.Attr) {
	out.Mode, out.Size, out.Nlink = n.mode, uint64(len(n.data)), 1
	out.Uid, out.Gid = uint32(os.Geteuid()), uint32(os.Getegid())
	out.SetTimes(&n.modified, &n.modified, &n.modified)
}

// add makes a file or folder in this one.
func (n *node) add(ctx context.Context, name string, folder bool, mode uint32, out *fuse.EntryOut) (*fs.Inode, syscall.Errno) { //nolint:revive // flag-parameter: two kinds of nodes
	n.tape.mutex.Lock()
	defer n.tape.mutex.Unlock()
	child := n.tape.node(folder, mode)
	if refused := n.tape.take(operation{Kind: create, Node: child.number, IsFolder: folder, Folder: n.number, Name: name}); refused != 0 {
		return nil, refused
	}
	child.fill(&out.Attr)
	attr := fs.StableAttr{Ino: child.number, Mode: fuse.S_IFREG}
	if folder {
		attr.Mode = fuse.S_IFDIR
	}
	return n.NewPersistentInode(ctx, child, attr), 0
}

// Create implements fs.NodeCreater.
func (n *node) Create(ctx context.Context, name string, flags, mode uint32, out *fuse.EntryOut) (*fs.Inode, fs.FileHandle, uint32, syscall.Errno) { //nolint:ireturn // implements the interface
	child, refused := n.add(ctx, name, false, mode, out)
	return child, handleFor(flags), fuse.FOPEN_KEEP_CACHE, refused
}

// Mkdir implements fs.NodeMkdirer.
func (n *node) Mkdir(ctx context.Context, name string, mode uint32, out *fuse.EntryOut) (*fs.Inode, syscall.Errno) {
	return n.add(ctx, name, true, mode, out)
}

// Link implements fs.NodeLinker.
func (n *node) Link(_ context.Context, target fs.InodeEmbedder, name string, out *fuse.EntryOut) (*fs.Inode, syscall.Errno) {
	n.tape.mutex.Lock()
	defer n.tape.mutex.Unlock()
	file, ok := target.(*node)
	if !ok {
		return nil, syscall.EXDEV
	}
	file.fill(&out.Attr)
	return file.EmbeddedInode(), n.tape.take(operation{Kind: link, Node: file.number, Folder: n.number, Name: name})
}

// Unlink implements fs.NodeUnlinker.
func (n *node) Unlink(_ context.Context, name string) syscall.Errno {
	n.tape.mutex.Lock()
	defer n.tape.mutex.Unlock()
	return n.tape.take(operation{Kind: remove, Folder: n.number, Name: name})
}

// Rmdir implements fs.NodeRmdirer.
func (n *node) Rmdir(ctx context.Context, name string) syscall.Errno {
	if child := n.GetChild(name); child != nil && len(child.Children()) > 0 {
		return syscall.ENOTEMPTY
	}
	return n.Unlink(ctx, name)
}

// Rename implements fs.NodeRenamer.
func (n *node) Rename(_ context.Context, name string, to fs.InodeEmbedder, newName string, flags uint32) syscall.Errno {
	n.tape.mutex.Lock()
	defer n.tape.mutex.Unlock()
	folder, ok := to.(*node)
	if !ok || flags != 0 {
		return syscall.EINVAL
	}
	return n.tape.take(operation{Kind: rename, Folder: n.number, Name: name, NewFolder: folder.number, NewName: newName})
}

// Open implements fs.NodeOpener.
func (n *node) Open(_ context.Context, flags uint32) (fs.FileHandle, uint32, syscall.Errno) { //nolint:ireturn // implements the interface
	n.tape.mutex.Lock()
	defer n.tape.mutex.Unlock()
	var refused syscall.Errno
	if flags&syscall.O_TRUNC != 0 {
		refused = n.resize(0)
	}
	return handleFor(flags), fuse.FOPEN_KEEP_CACHE, refused
}

// Read implements fs.NodeReader.
func (n *node) Read(_ context.Context, _ fs.FileHandle, into []byte, at int64) (fuse.ReadResult, syscall.Errno) { //nolint:ireturn // implements the interface
	n.tape.mutex.Lock()
	defer n.tape.mutex.Unlock()
	count := 0
	if at < int64(len(n.data)) {
		count = copy(into, n.data[at:])
	}
	return fuse.ReadResultData(into[:count]), 0
}

// Write implements fs.NodeWriter.
func (n *node) Write(_ context.Context, f fs.FileHandle, data []byte, at int64) (uint32, syscall.Errno) {
	n.tape.mutex.Lock()
	defer n.tape.mutex.Unlock()
	op := operation{Kind: write, Node: n.number, At: at, Data: append([]byte(nil), data...)}
	if refused := n.tape.take(op); refused != 0 {
		return 0, refused
	}
	n.data = overwritten(n.data, data, at)
	n.modified = now()
	if h, ok := f.(*handle); ok && h.syncs {
		return uint32(len(data)), n.tape.take(operation{Kind: synced, Node: n.number})
	}
	return uint32(len(data)), 0
}

// overwritten is a file's content after a write.
func overwritten(content, data []byte, at int64) []byte {
	if missing := at + int64(len(data)) - int64(len(content)); missing > 0 {
		content = append(content, make([]byte, missing)...)
	}
	copy(content[at:], data)
	return content
}

// resized is a file's content once it has that size.
func resized(content []byte, size int64) []byte {
	if size <= int64(len(content)) {
		return content[:size:size]
	}
	return append(content, make([]byte, size-int64(len(content)))...)
}

// resize needs the mutex.
func (n *node) resize(size int64) syscall.Errno {
	if refused := n.tape.take(operation{Kind: truncate, Node: n.number, At: size}); refused != 0 {
		return refused
	}
	n.data = resized(n.data, size)
	return 0
}

// Setattr implements fs.NodeSetattrer.
func (n *node) Setattr(_ context.Context, _ fs.FileHandle, in *fuse.SetAttrIn, out *fuse.AttrOut) syscall.Errno {
	n.tape.mutex.Lock()
	defer n.tape.mutex.Unlock()
	if mode, ok := in.GetMode(); ok {
		n.mode = mode & 0o7777
	}
	var refused syscall.Errno
	if size, ok := in.GetSize(); ok {
		refused = n.resize(int64(size))
	}
	n.fill(&out.Attr)
	return refused
}

// Getattr implements fs.NodeGetattrer.
func (n *node) Getattr(_ context.Context, _ fs.FileHandle, out *fuse.AttrOut) syscall.Errno {
	n.tape.mutex.Lock()
	defer n.tape.mutex.Unlock()
	n.fill(&out.Attr)
	return 0
}

// Fsync implements fs.NodeFsyncer, for files and folders.
func (n *node) Fsync(context.Context, fs.FileHandle, uint32) syscall.Errno {
	n.tape.mutex.Lock()
	defer n.tape.mutex.Unlock()
	return n.tape.take(operation{Kind: synced, Node: n.number})
}

// Flush implements fs.NodeFlusher: to close a file does not make it durable.
func (*node) Flush(context.Context, fs.FileHandle) syscall.Errno { return 0 }

// Statfs implements fs.NodeStatfser: there is room.
func (*node) Statfs(_ context.Context, out *fuse.StatfsOut) syscall.Errno {
	out.Bsize, out.NameLen = pageBytes, 255
	out.Blocks, out.Bfree, out.Bavail = 1<<24, 1<<24, 1<<24
	return 0
}
