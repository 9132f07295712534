#include "part.h"

#include <math.h>
#include <string.h>

void part_reset(part *p) {
  memset(p, 0, sizeof *p);
  p->min = INFINITY;
  p->max = -INFINITY;
}

static void merge_moments(part *into, const part *other) {
  if (other->finite == 0) return;
  double ours = (double)into->finite, theirs = (double)other->finite, share = theirs / (ours + theirs);
  double apart = into->finite ? other->mean - into->mean : 0;
  if (!into->finite) into->mean = other->mean;
  into->mean += apart * share;
  into->m2 += other->m2 + apart * apart * ours * share;
  into->l1 += other->l1;
  into->min = other->min < into->min ? other->min : into->min;
  into->max = other->max > into->max ? other->max : into->max;
}

void part_merge(part *into, const part *other) {
  merge_moments(into, other);
  into->finite += other->finite;
  into->nan += other->nan;
  into->positive_infinity += other->positive_infinity;
  into->negative_infinity += other->negative_infinity;
  into->zero += other->zero;
  into->subnormal += other->subnormal;
  into->digest += other->digest;
  for (int b = 0; b < BUCKETS; b++) into->sketch[b] += other->sketch[b];
}
