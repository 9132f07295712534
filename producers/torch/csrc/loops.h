/* The inner loops in the version that suits this machine. */
#ifndef TENSORTAP_LOOPS_H
#define TENSORTAP_LOOPS_H

#include "part.h"

typedef struct {
  void (*sums32)(const float *x, int n, float centre, int32_t normal, block_sums *out);
  void (*sums64)(const double *x, int n, double centre, int64_t normal, block_sums *out);
  void (*groups32)(const float *x, int groups, uint64_t first, float rows[BUCKETS][BUCKETS]);
  void (*groups64)(const double *x, int groups, uint64_t first, double rows[BUCKETS][BUCKETS]);
  void (*brain)(const uint16_t *restrict raw, int n, float *restrict out);
  void (*half)(const uint16_t *restrict raw, int n, float *restrict out);
  uint64_t (*page)(const char *bytes, int64_t n);
} loops;

/* The version in use: the widest that this machine can run and that TENSORTAP_SIMD (0, 1, 2) allows. */
extern const loops *tap_loops;

/* Its number, as TENSORTAP_SIMD counts. */
__attribute__((visibility("default"))) int tap_simd(void);

#endif
