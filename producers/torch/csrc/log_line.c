#include "log_line.h"

#include <stdio.h>
#include <string.h>

#define MOST_OF_A_BYTE 6 /* \u001f */
#define MOST_OF_THE_REST 80

static char *put(char *to, piece p) {
  memcpy(to, p.text, (size_t)p.bytes);
  return to + p.bytes;
}

static char *put_number(char *to, int64_t number) {
  char digits[20];
  int count = 0;
  uint64_t rest = number < 0 ? -(uint64_t)number : (uint64_t)number;
  if (number < 0) *to++ = '-';
  do digits[count++] = (char)('0' + rest % 10);
  while (rest /= 10);
  while (count) *to++ = digits[--count];
  return to;
}

#define PUT(to, text) put(to, (piece){text, sizeof text - 1})

static int is_plain(unsigned char c) { return c >= ' ' && c != '"' && c != '\\'; }

static char *put_escaped(char *to, unsigned char c) {
  *to++ = '\\';
  if (c >= ' ') *to++ = (char)c;
  else if (c == '\n') *to++ = 'n';
  else if (c == '\t') *to++ = 't';
  else to += sprintf(to, "u%04x", c);
  return to;
}

/* What need not be escaped, which is nearly all, is copied at once. */
static char *put_text(char *to, piece p) {
  const char *from = p.text, *end = p.text + p.bytes;
  while (from < end) {
    const char *plain = from;
    while (from < end && is_plain((unsigned char)*from)) from++;
    to = put(to, (piece){plain, from - plain});
    if (from < end) to = put_escaped(to, (unsigned char)*from++);
  }
  return to;
}

int64_t write_log_line(tap_lines *lines, int64_t time_ns, piece place, int64_t step, piece text, piece more) {
  uint64_t most = (uint64_t)text.bytes * MOST_OF_A_BYTE + (uint64_t)(place.bytes + more.bytes) + MOST_OF_THE_REST;
  if (lines->at + most > lines->end) return 0;
  char *begin = lines->pages + lines->at, *to = begin;
  to = PUT(to, "{\"t\":");
  to = put_number(to, time_ns);
  to = PUT(to, ",");
  to = put(to, place);
  to = PUT(to, "\"s\":");
  to = put_number(to, step);
  to = PUT(to, ",\"m\":\"");
  to = put_text(to, text);
  to = PUT(to, "\"");
  to = put(to, more);
  to = PUT(to, "}\n");
  lines->at += (uint64_t)(to - begin);
  return to - begin;
}
