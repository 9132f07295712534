/* What is known of some of a tensor's elements, and how two such parts become one. */
#ifndef TENSORTAP_PART_H
#define TENSORTAP_PART_H

#include <stdint.h>

/* Elements are read in blocks of this many: a block stays in the first-level cache while it is measured. */
#define BLOCK 1024
#define BUCKETS 16
#define STRIPE 64 /* bytes that the digest takes at once */

typedef struct {
  uint64_t finite, nan, positive_infinity, negative_infinity, zero, subnormal;
  double mean, m2, l1, min, max;
  double sketch[BUCKETS];
  uint64_t digest; /* sum of the pages' hashes, each mixed with its place */
} part;

/* Sums over one block, relative to a centre near its mean. */
typedef struct {
  double sum, square, absolute, min, max;
  uint64_t zero, small; /* small: 0 or subnormal */
} block_sums;

/* One number per 64-bit number, without collisions: the finaliser of SplitMix64. */
static inline uint64_t mix(uint64_t x) {
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
  return x ^ (x >> 31);
}

#define GOLDEN 0x9E3779B97F4A7C15u
#define SKETCH_SEED 0u

/* The sketch's hash of a group of 16 elements. mix(SKETCH_SEED) is 0. */
static inline uint64_t sketch_hash(uint64_t group) { return mix((group + 1) * GOLDEN + mix(SKETCH_SEED)); }

/* Continues a CRC-32, which begins with 0. */
uint32_t crc32_add(uint32_t crc, const unsigned char *bytes, int64_t n);

void part_reset(part *p);
void part_merge(part *into, const part *other);

#endif
