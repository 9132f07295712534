#include "measure_block.h"

#include <float.h>
#include <math.h>

#include "loops.h"

typedef struct {
  double x[BLOCK];
  int count;
} finite_numbers;

static double number(const block *b, int i) { return b->wide ? ((const double *)b->numbers)[i] : ((const float *)b->numbers)[i]; }

static void keep_finite(const block *b, finite_numbers *kept, part *p) {
  kept->count = 0;
  for (int i = 0; i < b->count; i++) {
    double x = number(b, i);
    kept->x[kept->count] = x;
    kept->count += fabs(x) <= DBL_MAX;
    p->nan += x != x;
    p->positive_infinity += x == INFINITY;
    p->negative_infinity += x == -INFINITY;
  }
}

static void take_sums(const block_sums *s, int count, double centre, part *p) {
  double n = count, square = s->square - s->sum / n * s->sum;
  p->finite = (uint64_t)count;
  p->zero = s->zero;
  p->subnormal = s->small - s->zero;
  p->mean = centre + s->sum / n;
  p->m2 = isinf(s->square) ? INFINITY : square > 0 ? square : 0;
  p->l1 = s->absolute;
  p->min = s->min;
  p->max = s->max;
}

/* What the fast loops cannot do in the block's own precision: elements that are not finite, and sums beyond the range of float. */
static void measure_carefully(const block *b, const numbers_of *of, part *p) {
  finite_numbers kept;
  block_sums s;
  keep_finite(b, &kept, p);
  if (kept.count == 0) return;
  tap_loops->sums64(kept.x, kept.count, 0, of->normal64, &s);
  double centre = s.sum / kept.count;
  tap_loops->sums64(kept.x, kept.count, centre, of->normal64, &s);
  take_sums(&s, kept.count, centre, p);
}

/* Whether sums of the fast loops can be trusted: all finite, and squares not lost below the least number. */
static int trustworthy(const block_sums *s, int wide) {
  if (!isfinite(s->absolute) || !isfinite(s->square)) return 0;
  return s->square >= (wide ? 1e-280 : 1e-27) || s->min == s->max;
}

static void sums_of(const block *b, double centre, const numbers_of *of, block_sums *s) {
  if (b->wide) tap_loops->sums64(b->numbers, b->count, centre, of->normal64, s);
  else tap_loops->sums32(b->numbers, b->count, (float)centre, (int32_t)of->normal32, s);
}

double first_centre(const block *b, const numbers_of *of) {
  block_sums s;
  sums_of(b, 0, of, &s);
  double mean = s.sum / b->count;
  if (!isfinite(s.absolute) || !isfinite(mean)) return 0;
  return of->whole ? rint(mean) : mean;
}

void measure_block(const block *b, double centre, const numbers_of *of, part *p) {
  block_sums s;
  part_reset(p);
  sums_of(b, centre, of, &s);
  if (fabs(centre) * b->count > 2 * s.absolute) { /* far from this block: distances from it are rounded too much */
    centre = first_centre(b, of);
    sums_of(b, centre, of, &s);
  }
  if (trustworthy(&s, b->wide)) take_sums(&s, b->count, b->wide ? centre : (float)centre, p);
  else measure_carefully(b, of, p);
}
