/* One pass over a tensor: its statistics, sketch and digest.
 *
 * Elements are taken in blocks of 1,024, blocks in chunks whose size depends on the number of elements alone, and both
 * are merged in order: so the result does not depend on the number of threads or on the width of vectors. */
#include <math.h>
#include <stddef.h>
#include <string.h>

#include "read_elements.h"
#include "layout.h"
#include "loops.h"
#include "measure_block.h"
#include "pool.h"
#include "records.h"

#define EXPORT __attribute__((visibility("default")))
#define CHUNK_BLOCKS 64 /* of the smallest chunk: fewer elements are not worth a second thread */
#define MOST_CHUNKS 1024
#define FOLD_BLOCKS 16  /* the sketch's float sums are folded into double so often */

typedef struct {
  source from;
  uint32_t options;
  int64_t chunk; /* elements */
  numbers_of of;
  int64_t sketch_base; /* index of the first element in the whole tensor of which this one is a shard */
  uint32_t crc32;
} task;

typedef struct {
  union { float f32[BUCKETS][BUCKETS]; double f64[BUCKETS][BUCKETS]; } rows;
  int wide, blocks;
} sketcher;

static void fold(sketcher *s, part *p) {
  for (int r = 0; r < BUCKETS; r++)
    for (int l = 0; l < BUCKETS; l++) p->sketch[l ^ r] += s->wide ? s->rows.f64[r][l] : (double)s->rows.f32[r][l];
  memset(s, 0, sizeof *s);
}

static double part_number(const block *b, int i) {
  double x = b->wide ? ((const double *)b->parts)[i] : ((const float *)b->parts)[i];
  return isfinite(x) ? x : 0;
}

static void sketch_one(part *p, uint64_t index, double x) {
  uint64_t hash = sketch_hash(index >> 4), lane = index & 15;
  p->sketch[lane ^ (hash & 15)] += hash >> (16 + lane) & 1 ? -x : x;
}

/* Adds a block, whose first number has the index given, to the sketch. Numbers that are not finite count as 0. */
static void sketch(sketcher *s, const block *b, int numbers, uint64_t index, int finite, part *p) {
  int groups = finite && index % BUCKETS == 0 ? numbers / BUCKETS : 0;
  s->wide = b->wide;
  if (b->wide) tap_loops->groups64(b->parts, groups, index / BUCKETS, s->rows.f64);
  else tap_loops->groups32(b->parts, groups, index / BUCKETS, s->rows.f32);
  for (int i = groups * BUCKETS; i < numbers; i++) sketch_one(p, index + (uint64_t)i, part_number(b, i));
  if (++s->blocks == FOLD_BLOCKS) fold(s, p);
}

static void hash_block(task *t, const block *b, int64_t first, part *p) {
  int64_t bytes = (int64_t)b->count * element_bytes(t->from.type);
  if (t->options & WANT_DIGEST) p->digest += mix(tap_loops->page(b->bytes, bytes) + (uint64_t)(first / BLOCK + 1) * GOLDEN);
  if (t->options & WANT_CRC32) t->crc32 = crc32_add(t->crc32, b->bytes, bytes);
}

static void measure_chunk(task *t, int64_t first, int64_t end, part *total) {
  block b;
  sketcher s;
  part one;
  int complex = is_complex(t->from.type), sketched = (t->options & WANT_SKETCH) != 0;
  double centre = 0;
  part_reset(total);
  if (sketched) memset(&s, 0, sizeof s);
  for (int64_t at = first; at < end; at += BLOCK) {
    block_read(&b, &t->from, at);
    if (at == first) centre = first_centre(&b, &t->of);
    measure_block(&b, centre, &t->of, &one);
    if (sketched)
      sketch(&s, &b, complex ? 2 * b.count : b.count, (uint64_t)(t->sketch_base + at) << complex, one.finite == (uint64_t)b.count, &one);
    hash_block(t, &b, at, &one);
    if (one.finite && !t->of.whole) centre = one.mean;
    part_merge(total, &one);
  }
  if (sketched) fold(&s, total);
}

typedef struct { task *t; part parts[MOST_CHUNKS]; } shared_work;

static void run_piece(void *context, int piece) {
  shared_work *work = context;
  int64_t first = piece * work->t->chunk, end = first + work->t->chunk;
  measure_chunk(work->t, first, end < work->t->from.count ? end : work->t->from.count, &work->parts[piece]);
}

static void measure_together(task *t, int chunks, int threads, part *total) {
  static shared_work work; /* the pool is taken: nobody else uses it */
  work.t = t;
  pool_run(&(pool_job){run_piece, &work, chunks}, threads < chunks ? threads : chunks);
  for (int c = 0; c < chunks; c++) part_merge(total, &work.parts[c]);
}

static void measure_alone(task *t, int chunks, part *total) {
  for (int c = 0; c < chunks; c++) {
    part one;
    int64_t first = c * t->chunk, end = first + t->chunk;
    measure_chunk(t, first, end < t->from.count ? end : t->from.count, &one);
    part_merge(total, &one);
  }
}

static void measure_all(task *t, int threads, part *total) {
  int64_t blocks = (t->from.count + BLOCK - 1) / BLOCK, per_chunk = (blocks + MOST_CHUNKS - 1) / MOST_CHUNKS;
  t->chunk = (per_chunk < CHUNK_BLOCKS ? CHUNK_BLOCKS : per_chunk) * BLOCK;
  int chunks = (int)((t->from.count + t->chunk - 1) / t->chunk);
  part_reset(total);
  if (threads > 1 && chunks > 1 && !(t->options & WANT_CRC32) && pool_take()) {
    measure_together(t, chunks, threads, total);
    pool_give();
  } else measure_alone(t, chunks, total);
}

static void repeat(part *p, uint64_t times) {
  p->finite *= times;
  p->nan *= times;
  p->positive_infinity *= times;
  p->negative_infinity *= times;
  p->zero *= times;
  p->subnormal *= times;
  p->m2 *= (double)times;
  p->l1 *= (double)times;
}

static task new_task(const void *data, int64_t count, uint32_t options, const tap_view *view, int64_t base) {
  task t = {.from = {data, count, view, (dtype)(options & 0xff)}, .options = options, .sketch_base = base};
  dtype type = t.from.type;
  t.of = (numbers_of){least_normal(type, 0), least_normal(type, 1), type >= BOOL && type <= INT64};
  return t;
}

int tap_measure(const tap_call *call) {
  if ((call->options & 0xff) >= DTYPES || call->count < 0) return 0;
  task t = new_task(call->data, call->count, call->options, call->view, 0);
  part total;
  measure_all(&t, (int)(call->options >> 16), &total);
  if (call->view && call->view->repeat > 1) repeat(&total, (uint64_t)call->view->repeat);
  return write_records(call, call->count * element_bytes(t.from.type), t.crc32, &total);
}

/* The sketch alone, of a run of elements that begins at index `base` of the whole tensor; adds to `buckets`. */
EXPORT int tap_sketch_run(const void *data, int64_t count, uint32_t options, const tap_view *view, int64_t base, double *buckets) {
  if ((options & 0xff) >= DTYPES || count < 0) return 0;
  task t = new_task(data, count, (options & 0xff) | WANT_SKETCH, view, base);
  part total;
  measure_all(&t, 1, &total);
  for (int b = 0; b < BUCKETS; b++) buckets[b] += total.sketch[b];
  return 1;
}

/* Names of the types, in the order of their numbers. */
EXPORT const char *tap_dtypes(void) {
  return "float32 float64 float16 bfloat16 float8_e4m3fn float8_e5m2 float8_e4m3fnuz float8_e5m2fnuz float8_e8m0fnu "
         "bool uint8 int8 uint16 int16 uint32 int32 uint64 int64 complex32 complex64 complex128";
}

/* Whose threads share the work on large tensors: those of this OpenMP runtime's function GOMP_parallel; NULL: our own. */
EXPORT void tap_lend_team(team_start *team) { pool_lend(team); }

/* Of the spool's layout. */
EXPORT int tap_layout_version(void) { return (int)TAP_VERSION; }

/* Where a call's members lie: a library that was built before a change of tap_call must not be called with the new one. */
EXPORT const uint8_t tap_call_offsets[] = {
    offsetof(tap_call, data),   offsetof(tap_call, rows),  offsetof(tap_call, site), offsetof(tap_call, seq),   offsetof(tap_call, place),
    offsetof(tap_call, layout), offsetof(tap_call, count), offsetof(tap_call, view), offsetof(tap_call, flags), offsetof(tap_call, options),
    sizeof(tap_call),
};
