/* What a tensor's records say, and how they are written into the spool. */
#ifndef TENSORTAP_RECORDS_H
#define TENSORTAP_RECORDS_H

#include "read_elements.h"

enum { WANT_SKETCH = 1 << 8, WANT_DIGEST = 1 << 9, WANT_CRC32 = 1 << 10, WANT_COUNTS = 1 << 11 /* even where there is no need */ };

/* What the caller asks for: arguments one by one would cost it more than a small tensor's statistics. */
typedef struct {
  const void *data; /* up to place: another for each tensor; the rest is the same for all of one layout */
  void *rows;       /* zeroed records to write */
  uint32_t site, seq;
  uint32_t place; /* of the segment: the checksums hold it */
  uint32_t layout;
  int64_t count;
  const tap_view *view; /* NULL when the elements follow each other */
  uint32_t flags;
  uint32_t options; /* type | what is wanted | threads << 16 */
} tap_call;

/* Measures a tensor and writes its records. Returns how many, or 0 when it cannot. */
__attribute__((visibility("default"))) int tap_measure(const tap_call *call);

/* Writes the commit word of a record whose other bytes are there: from then on readers take it. */
void commit_record(void *record, uint32_t kind, uint32_t place);

/* Writes a tensor's records, extensions first, its own last, by what is known of so many bytes of elements. Returns how many. */
int write_records(const tap_call *call, int64_t bytes, uint32_t crc32, const part *p);

/* Writes a tensor's rows once more, for another site. */
void rows_again(const char *from, char *to, uint64_t rows, uint32_t site, uint32_t layout, uint32_t seq, uint32_t place);

/* Writes that an op begins or ends, and that it is the current one to a place of the header, unless there is none. */
typedef struct { uint32_t op, parent, seq, stack, micro_step, flags; } op_facts;
void op_row(void *row, void *current, const op_facts *op, uint32_t place);

/* Writes an argument that is a number, and one of which the layout says all. */
void number_row(void *row, uint32_t site, uint32_t layout, uint32_t seq, uint32_t place, int64_t whole, double real);
void literal_row(void *row, uint32_t site, uint32_t layout, uint32_t seq, uint32_t place);

#endif
