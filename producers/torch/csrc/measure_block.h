/* Mean, squared deviations, extremes and counts of one block. */
#ifndef TENSORTAP_MEASURE_BLOCK_H
#define TENSORTAP_MEASURE_BLOCK_H

#include "read_elements.h"

/* What the elements' type says of their numbers. */
typedef struct {
  int64_t normal32, normal64; /* bits of the least normal number, in blocks of float and of double */
  int whole;
} numbers_of;

/* A first centre: the mean of a block, or near it. Whole for whole numbers, whose sums then are exact. */
double first_centre(const block *b, const numbers_of *of);
/* Measures a block around a centre near its mean, which is the mean of the block before it. */
void measure_block(const block *b, double centre, const numbers_of *of, part *p);

#endif
