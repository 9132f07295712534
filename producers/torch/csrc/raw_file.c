/* Writes the file of one raw tensor in one call, so that Python's lock is not waited for meanwhile. What is large goes past the
 * system's memory, where a disk allows that: to copy it there would take most of the processor's time. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <sys/statfs.h>
#include <sys/uio.h>
#include <unistd.h>

#include "part.h"

#define EXPORT __attribute__((visibility("default")))
#define ALIGNED 4096 /* bytes: a multiple of any disk's blocks */
#define SOON (256 << 10) /* bytes that the disk is to begin with at once */
#define MOST_AT_ONCE (64 << 20)

typedef struct {
  const char *head, *elements;
  int64_t head_bytes, bytes;
} content;

/* Local disks. Others may take each such write for one that is to be waited for until it is in another machine. */
static int is_local_disk(int file) {
  struct statfs on;
  if (fstatfs(file, &on)) return 0;
  switch ((uint32_t)on.f_type) {
    case 0xEF53:     /* ext4 */
    case 0x58465342: /* xfs */
    case 0x9123683E: /* btrfs */
    case 0xF2F52010: /* f2fs */
    case 0x794C7630: /* overlay, as below containers */
      return 1;
    default:
      return 0;
  }
}

static int may_go_past_memory(int file, const content *c) {
  int is_aligned = c->head_bytes == ALIGNED && (uintptr_t)c->elements % ALIGNED == 0 && c->bytes >= ALIGNED;
  return is_aligned && is_local_disk(file) && !fcntl(file, F_SETFL, O_DIRECT);
}

/* The bytes that are in the file then: as many as the disk took this way, all but the last page's rest, in whole pages. */
static int64_t put_past_memory(int file, const content *c) {
  __attribute__((aligned(ALIGNED))) char head[ALIGNED];
  int64_t whole = c->bytes & ~(int64_t)(ALIGNED - 1), most = whole < MOST_AT_ONCE ? whole : MOST_AT_ONCE;
  memcpy(head, c->head, ALIGNED);
  struct iovec parts[] = {{head, ALIGNED}, {(void *)c->elements, (size_t)most}};
  int64_t done = pwritev(file, parts, 2, 0);
  while (done > ALIGNED && done % ALIGNED == 0 && done < whole + ALIGNED) {
    int64_t left = whole + ALIGNED - done;
    ssize_t n = pwrite(file, c->elements + done - ALIGNED, (size_t)(left < MOST_AT_ONCE ? left : MOST_AT_ONCE), done);
    if (n <= 0) break;
    done += n;
  }
  return done < 0 ? 0 : done;
}

/* 0, or what prevents it. */
static int put(int file, const char *from, int64_t bytes, int64_t at) {
  while (bytes > 0) {
    ssize_t n = pwrite(file, from, (size_t)bytes, at);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return n ? errno : EIO;
    from += n, bytes -= n, at += n;
  }
  return 0;
}

/* All but the bytes that are there. */
static int put_rest(int file, const content *c, int64_t done) {
  int failure = done < c->head_bytes ? put(file, c->head + done, c->head_bytes - done, done) : 0;
  int64_t of_elements = done > c->head_bytes ? done - c->head_bytes : 0;
  if (!failure) failure = put(file, c->elements + of_elements, c->bytes - of_elements, c->head_bytes + of_elements);
  if (!failure && c->bytes - of_elements >= SOON) sync_file_range(file, 0, 0, SYNC_FILE_RANGE_WRITE); /* else all would wait in memory, and then everybody for the disk */
  return failure;
}

static int put_all(int file, const content *c, int past_memory) {
  int64_t done = 0;
  if (past_memory && may_go_past_memory(file, c)) {
    done = put_past_memory(file, c);
    fcntl(file, F_SETFL, 0);
  }
  return put_rest(file, c, done);
}

/* Writes a file that is not there yet: 0, or the error of which nothing stays. The checksum is that of the elements. */
EXPORT int tap_write_raw(const char *path, const char *head, int64_t head_bytes, const char *elements, int64_t bytes, int past_memory, uint32_t *checksum) {
  content c = {head, elements, head_bytes, bytes};
  int file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (file < 0) return errno;
  *checksum = crc32_add(0, (const unsigned char *)elements, bytes);
  int failure = put_all(file, &c, past_memory);
  if (close(file) && !failure) failure = errno;
  if (failure) unlink(path);
  return failure;
}
