/* Tensors that were measured on a device: their rows have come to the host, and become records of the spool. */
#include <stddef.h>
#include <string.h>

#include "records.h"

#define EXPORT __attribute__((visibility("default")))
/* Words of a row, as triton_measure.py stores them. */
enum { FINITE, NANS, ABOVE, BELOW, ZERO, SMALL, MEAN, M2, L1, LEAST, GREATEST, SKETCH = 12, DIGEST = 28, WORDS = 32 };

/* A tensor whose row is, or will be, in the row of the same number. */
typedef struct {
  void *rows; /* zeroed records to write */
  int64_t bytes; /* of its elements */
  uint32_t site, layout, seq, flags;
  uint32_t place;      /* of the segment */
  uint32_t overflowed; /* written: whether it has a NaN or +Inf */
} tap_pending;

static part part_of(const double *row) {
  part p = {
      .finite = (uint64_t)row[FINITE], .nan = (uint64_t)row[NANS], .positive_infinity = (uint64_t)row[ABOVE],
      .negative_infinity = (uint64_t)row[BELOW], .zero = (uint64_t)row[ZERO], .subnormal = (uint64_t)row[SMALL],
      .mean = row[MEAN], .m2 = row[M2] > 0 ? row[M2] : 0, .l1 = row[L1], .min = row[LEAST], .max = row[GREATEST],
  };
  memcpy(p.sketch, row + SKETCH, sizeof p.sketch);
  memcpy(&p.digest, row + DIGEST, sizeof p.digest);
  return p;
}

/* Writes the records of so many tensors, each with its counts; options say what else is wanted. Returns how many have a NaN or +Inf. */
EXPORT int64_t tap_drain(const double *rows, tap_pending *pending, int64_t count, uint32_t options) {
  int64_t overflowed = 0;
  for (int64_t at = 0; at < count; at++) {
    tap_pending *one = pending + at;
    part p = part_of(rows + at * WORDS);
    tap_call call = {.rows = one->rows, .site = one->site, .seq = one->seq, .place = one->place,
                     .layout = one->layout, .flags = one->flags, .options = options | WANT_COUNTS};
    write_records(&call, one->bytes, 0, &p);
    overflowed += one->overflowed = p.nan || p.positive_infinity;
  }
  return overflowed;
}

/* Where a pending tensor's members lie, and how many words a row has, as tap_call_offsets. */
EXPORT const uint8_t tap_pending_offsets[] = {
    offsetof(tap_pending, rows),  offsetof(tap_pending, bytes), offsetof(tap_pending, site),       offsetof(tap_pending, layout), offsetof(tap_pending, seq),
    offsetof(tap_pending, flags), offsetof(tap_pending, place), offsetof(tap_pending, overflowed), sizeof(tap_pending),           WORDS,
};
