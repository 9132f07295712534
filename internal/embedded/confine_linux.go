package embedded

import (
	"errors"
	"fmt"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

const (
	fileRead  = unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_EXECUTE
	folderGet = fileRead | unix.LANDLOCK_ACCESS_FS_READ_DIR
	fileWrite = unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_WRITE_FILE | unix.LANDLOCK_ACCESS_FS_TRUNCATE
	folderPut = fileWrite | unix.LANDLOCK_ACCESS_FS_READ_DIR | unix.LANDLOCK_ACCESS_FS_REMOVE_DIR |
		unix.LANDLOCK_ACCESS_FS_REMOVE_FILE | unix.LANDLOCK_ACCESS_FS_MAKE_DIR | unix.LANDLOCK_ACCESS_FS_MAKE_REG |
		unix.LANDLOCK_ACCESS_FS_MAKE_SYM | unix.LANDLOCK_ACCESS_FS_REFER
	everything = folderGet | folderPut
)

// systemPaths are the paths that ClickHouse and the C library read: about the machine, the network and the
// time zone.
func systemPaths() []string {
	return []string{
		"/lib", "/lib64", "/usr/lib", "/usr/lib64", "/usr/share/zoneinfo", "/etc/ld.so.cache", "/etc/hosts", "/etc/resolv.conf",
		"/etc/nsswitch.conf", "/etc/host.conf", "/etc/gai.conf", "/etc/localtime", "/etc/ssl", "/proc/self", "/proc/meminfo",
		"/proc/cpuinfo", "/proc/stat", "/proc/loadavg", "/proc/uptime", "/proc/vmstat", "/proc/sys", "/proc/mounts",
		"/sys/fs/cgroup", "/sys/devices/system", "/sys/block", "/sys/kernel/mm", "/dev/null", "/dev/urandom", "/dev/random",
	}
}

// confine limits this thread, and those it starts, to the given paths and the system's needs (Landlock).
//
// ClickHouse's SQL function file() reads any path, for any user: even for the engine's `default` without a
// password, and for `reader`, whatever is granted. No setting of ClickHouse forbids it, so the kernel must.
func confine(writable, readable []string) error {
	version, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	if errno != 0 {
		return fmt.Errorf("this kernel offers no Landlock: %w", errno)
	}
	if version < 2 {
		return errors.New("this kernel's Landlock (version 1) forbids every move between folders")
	}
	handled := uint64(everything)
	if version < 3 {
		handled &^= unix.LANDLOCK_ACCESS_FS_TRUNCATE
	}
	attributes := unix.LandlockRulesetAttr{Handled_access_fs: handled}
	// Only the first field is passed: older kernels know no other.
	ruleset, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, uintptr(unsafe.Pointer(&attributes)), unsafe.Sizeof(attributes.Handled_access_fs), 0)
	if errno != 0 {
		return fmt.Errorf("create the Landlock rules: %w", errno)
	}
	defer unix.Close(int(ruleset)) //nolint:errcheck // in force by then, or given up
	if err := allowAll(int(ruleset), handled, writable, readable); err != nil {
		return err
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("give up new privileges: %w", err)
	}
	if _, _, errno := unix.Syscall(unix.SYS_LANDLOCK_RESTRICT_SELF, ruleset, 0, 0); errno != 0 {
		return fmt.Errorf("put the Landlock rules in force: %w", errno)
	}
	return nil
}

func allowAll(ruleset int, handled uint64, writable, readable []string) error {
	for _, path := range writable {
		if err := allow(ruleset, path, folderPut&handled, fileWrite&handled); err != nil {
			return err
		}
	}
	for _, path := range append(readable, systemPaths()...) {
		err := allow(ruleset, path, folderGet, fileRead)
		if err != nil && !errors.Is(err, os.ErrNotExist) && !errors.Is(err, os.ErrPermission) {
			return err
		}
	}
	return nil
}

func allow(ruleset int, path string, forFolder, forFile uint64) error {
	descriptor, err := unix.Open(path, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("allow the engine %s: %w", path, err)
	}
	defer unix.Close(descriptor) //nolint:errcheck // only names the path
	var status unix.Stat_t
	if err := unix.Fstat(descriptor, &status); err != nil {
		return fmt.Errorf("allow the engine %s: %w", path, err)
	}
	access := forFile
	if status.Mode&unix.S_IFMT == unix.S_IFDIR {
		access = forFolder
	}
	rule := unix.LandlockPathBeneathAttr{Allowed_access: access, Parent_fd: int32(descriptor)} //nolint:gosec // a descriptor is small
	_, _, errno := unix.Syscall6(unix.SYS_LANDLOCK_ADD_RULE, uintptr(ruleset), unix.LANDLOCK_RULE_PATH_BENEATH,
		uintptr(unsafe.Pointer(&rule)), 0, 0, 0)
	if errno != 0 {
		return fmt.Errorf("allow the engine %s: %w", path, errno)
	}
	return nil
}
