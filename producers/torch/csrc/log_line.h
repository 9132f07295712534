/* Lines of JSON in the pages of a file beside the spool. */
#ifndef TENSORTAP_LOG_LINE_H
#define TENSORTAP_LOG_LINE_H

#include <stddef.h>
#include <stdint.h>

/* Where lines go: Python changes it, with end 0 meanwhile. */
typedef struct {
  char *pages;
  uint64_t at, end; /* the next byte, and how many there are */
} tap_lines;

typedef struct {
  const char *text;
  ptrdiff_t bytes;
} piece;

/* A record of logging: {"t":nanoseconds,PLACE"s":step,"m":"text"MORE}. Returns its bytes, 0 if there may not be room. */
int64_t write_log_line(tap_lines *lines, int64_t time_ns, piece place, int64_t step, piece text, piece more);

#endif
