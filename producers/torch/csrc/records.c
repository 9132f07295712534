/* Records of the spool: a reader takes one when its commit word is there. */
#include "records.h"

#include <math.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>

#include "layout.h"

#define ALL_MEASURED 0x7FFu
#define NEED_A_FINITE_ELEMENT (TAP_MEASURED_MIN | TAP_MEASURED_MAX | TAP_MEASURED_MEAN | TAP_MEASURED_M2 | TAP_MEASURED_L2 | TAP_MEASURED_L1)

void commit_record(void *record, uint32_t kind, uint32_t place) {
  uint32_t word = kind | (crc32_add(kind | place, record, TAP_COMMIT_OFFSET) & ~TAP_KIND_MASK);
  atomic_store_explicit((_Atomic uint32_t *)((char *)record + TAP_COMMIT_OFFSET), word, memory_order_release);
}

static int write_counts(const tap_call *call, tap_counts *r, const part *p) {
  int exact = p->finite == 0 || ((float)p->min == p->min && (float)p->max == p->max);
  int usual = exact && !(p->nan | p->positive_infinity | p->negative_infinity | p->subnormal);
  if (usual && !(call->options & WANT_COUNTS)) return 0;
  r->nan_count = p->nan;
  r->positive_infinity_count = p->positive_infinity;
  r->negative_infinity_count = p->negative_infinity;
  r->subnormal_count = p->subnormal;
  r->value_min = p->finite ? p->min : 0;
  r->value_max = p->finite ? p->max : 0;
  commit_record(r, TAP_COUNTS_KIND, call->place);
  return 1;
}

/* Sums that overflow both ways give a NaN, whose sign is one on x86 and another elsewhere. */
static double of_one_sign(double x) { return isnan(x) ? NAN : x; }

static int write_sketch(tap_sketch *r, uint32_t place, const part *p) {
  for (int half = 0; half < 2; half++, r++) {
    for (int b = 0; b < 8; b++) r->buckets[b] = (float)of_one_sign(p->sketch[8 * half + b]);
    r->first = 8u * (uint32_t)half;
    commit_record(r, TAP_SKETCH_KIND, place);
  }
  return 2;
}

static int write_digest(const tap_call *call, tap_digest *r, int64_t bytes, uint32_t crc32, const part *p) {
  int ours = (call->options & WANT_DIGEST) != 0;
  r->digest = ours ? mix((uint64_t)bytes * GOLDEN + p->digest) : crc32;
  r->digest_kind = ours ? TAP_DIGEST_TAP : TAP_DIGEST_CRC32;
  commit_record(r, TAP_DIGEST_KIND, call->place);
  return 1;
}

static int write_extensions(const tap_call *call, int64_t bytes, uint32_t crc32, const part *p) {
  char *at = (char *)call->rows + TAP_RECORD_BYTES;
  int rows = write_counts(call, (tap_counts *)at, p);
  if (call->options & WANT_SKETCH) rows += write_sketch((tap_sketch *)(at + rows * (int)TAP_RECORD_BYTES), call->place, p);
  if (call->options & (WANT_DIGEST | WANT_CRC32)) rows += write_digest(call, (tap_digest *)(at + rows * (int)TAP_RECORD_BYTES), bytes, crc32, p);
  return rows;
}

int write_records(const tap_call *call, int64_t bytes, uint32_t crc32, const part *p) {
  tap_tensor *r = call->rows;
  r->site = call->site;
  r->layout = call->layout;
  r->seq = call->seq;
  r->flags = call->flags | (p->finite ? ALL_MEASURED : ALL_MEASURED & ~NEED_A_FINITE_ELEMENT);
  r->value_min = p->finite ? (float)p->min : 0;
  r->value_max = p->finite ? (float)p->max : 0;
  r->value_mean = of_one_sign(p->mean);
  r->value_m2 = of_one_sign(p->m2);
  r->value_l1 = p->l1;
  r->zero_count = p->zero;
  r->extra = (uint32_t)write_extensions(call, bytes, crc32, p);
  commit_record(r, TAP_TENSOR_KIND, call->place);
  return 1 + (int)r->extra;
}

void rows_again(const char *from, char *to, uint64_t rows, uint32_t site, uint32_t layout, uint32_t seq, uint32_t place) {
  for (uint64_t row = 1; row < rows; row++) {
    memcpy(to + row * TAP_RECORD_BYTES, from + row * TAP_RECORD_BYTES, TAP_COMMIT_OFFSET);
    commit_record(to + row * TAP_RECORD_BYTES, (uint8_t)from[row * TAP_RECORD_BYTES + TAP_COMMIT_OFFSET], place);
  }
  tap_tensor *r = (tap_tensor *)to;
  memcpy(r, from, TAP_COMMIT_OFFSET);
  r->site = site;
  r->layout = layout;
  r->seq = seq;
  r->flags |= TAP_REUSED;
  commit_record(r, TAP_TENSOR_KIND, place);
}

void number_row(void *row, uint32_t site, uint32_t layout, uint32_t seq, uint32_t place, int64_t whole, double real) {
  tap_number *r = row;
  *r = (tap_number){.site = site, .layout = layout, .seq = seq, .whole = whole, .real = real};
  commit_record(r, TAP_NUMBER_KIND, place);
}

void literal_row(void *row, uint32_t site, uint32_t layout, uint32_t seq, uint32_t place) {
  tap_tensor *r = row;
  r->site = site;
  r->layout = layout;
  r->seq = seq;
  r->flags = TAP_LITERAL;
  commit_record(r, TAP_TENSOR_KIND, place);
}

static int64_t now_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  return now.tv_sec * 1000000000ll + now.tv_nsec;
}

/* The header's fields of the current op. */
typedef struct { int64_t time_ns; uint32_t op, seq; } current_op;

void op_row(void *row, void *current, const op_facts *op, uint32_t place) {
  tap_op *r = row;
  *r = (tap_op){.op = op->op, .parent = op->parent, .seq = op->seq, .stack = op->stack,
                .time_ns = now_ns(), .micro_step = op->micro_step, .flags = op->flags};
  if (current) *(current_op *)current = (current_op){r->time_ns, r->op, r->seq};
  commit_record(r, TAP_OP_KIND, place);
}
