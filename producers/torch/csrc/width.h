/* All that depends on the width of vectors: the loops of lanes.h for both types, narrow types made wide, the digest's pages.
 * The includer defines WIDTH, TARGET, VERSION (a suffix) and MIN32, MAX32, MIN64, MAX64. */

#define JOIN_(a, b, c) a##b##_##c
#define JOIN(a, b, c) JOIN_(a, b, c)

#define REAL float
#define INT int32_t
#define MIN MIN32
#define MAX MAX32
#define NAME(x) JOIN(x, 32, VERSION)
#include "lanes.h"

#define REAL double
#define INT int64_t
#define MIN MIN64
#define MAX MAX64
#define NAME(x) JOIN(x, 64, VERSION)
#include "lanes.h"

TARGET static void JOIN(brain, 16, VERSION)(const uint16_t *restrict raw, int n, float *restrict out) {
  for (int i = 0; i < n; i++) {
    uint32_t bits = (uint32_t)raw[i] << 16;
    memcpy(out + i, &bits, 4);
  }
}

/* By arithmetic on the bits, which does not depend on whether the thread flushes subnormal numbers. */
TARGET static void JOIN(half, 16, VERSION)(const uint16_t *restrict raw, int n, float *restrict out) {
  for (int i = 0; i < n; i++) {
    uint32_t magnitude = raw[i] & 0x7fffu, sign = (raw[i] & 0x8000u) << 16;
    union { float value; uint32_t bits; } small = {.value = (float)(int32_t)magnitude * 0x1p-24f}, all;
    uint32_t is_small = 0u - (magnitude < 0x400), is_infinite = 0u - (magnitude >= 0x7c00);
    uint32_t large = (magnitude << 13) + (112u << 23) + (is_infinite & 112u << 23);
    all.bits = (small.bits & is_small) | (large & ~is_small) | sign;
    out[i] = all.value;
  }
}

/* One page of the digest: eight chains of 64-bit words. Bytes beyond n count as 0. */
TARGET static uint64_t JOIN(page, 64, VERSION)(const char *bytes, int64_t n) {
  words chain = page_start, word;
  const words odd = (words){0} + PAGE_FACTOR, other = (words){0} + PAGE_STEP;
  int64_t at = 0;
  for (; at + STRIPE <= n; at += STRIPE) {
    memcpy(&word, bytes + at, STRIPE);
    chain += word * odd;
    chain = ((chain << 31) | (chain >> 33)) * other;
  }
  if (at < n) {
    word = (words){0};
    memcpy(&word, bytes + at, (size_t)(n - at));
    chain += word * odd;
    chain = ((chain << 31) | (chain >> 33)) * other;
  }
  uint64_t hash = mix((uint64_t)n);
  for (int i = 0; i < 8; i++) hash = mix(hash ^ chain[i]);
  return hash;
}

static const loops JOIN(loops, 0, VERSION) = {
    JOIN(sums, 32, VERSION), JOIN(sums, 64, VERSION), JOIN(groups, 32, VERSION), JOIN(groups, 64, VERSION),
    JOIN(brain, 16, VERSION), JOIN(half, 16, VERSION), JOIN(page, 64, VERSION),
};

#undef JOIN
#undef JOIN_
#undef WIDTH
#undef TARGET
#undef VERSION
#undef MIN32
#undef MAX32
#undef MIN64
#undef MAX64
