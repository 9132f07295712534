/* CRC-32 as zlib has it: eight bytes at once by tables, or sixty-four where the processor multiplies without carries. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#if defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>
#endif

#include "part.h"

static uint32_t crc_tables[8][256];

__attribute__((constructor)) static void fill_crc_tables(void) {
  for (uint32_t n = 0; n < 256; n++) {
    uint32_t c = n;
    for (int bit = 0; bit < 8; bit++) c = c & 1 ? c >> 1 ^ 0xEDB88320u : c >> 1;
    crc_tables[0][n] = c;
  }
  for (int t = 1; t < 8; t++)
    for (int n = 0; n < 256; n++) crc_tables[t][n] = crc_tables[t - 1][n] >> 8 ^ crc_tables[0][crc_tables[t - 1][n] & 255];
}

static uint32_t add_by_tables(uint32_t crc, const unsigned char *bytes, int64_t n) {
  for (; n >= 8; n -= 8, bytes += 8) {
    uint32_t low, high;
    memcpy(&low, bytes, 4);
    memcpy(&high, bytes + 4, 4);
    low ^= crc;
    crc = crc_tables[7][low & 255] ^ crc_tables[6][low >> 8 & 255] ^ crc_tables[5][low >> 16 & 255] ^ crc_tables[4][low >> 24] ^
          crc_tables[3][high & 255] ^ crc_tables[2][high >> 8 & 255] ^ crc_tables[1][high >> 16 & 255] ^ crc_tables[0][high >> 24];
  }
  for (; n > 0; n--, bytes++) crc = crc >> 8 ^ crc_tables[0][(crc ^ *bytes) & 255];
  return crc;
}

#define FOLDED 64 /* bytes that are folded at once */

#if defined(__x86_64__)

#define FOLDS __attribute__((target("sse2,pclmul"))) static

FOLDS __m128i load(const unsigned char *bytes) { return _mm_loadu_si128((const __m128i *)bytes); }

/* What a has become once as many bits are before it as the powers stand for, and next. */
FOLDS __m128i fold(__m128i a, __m128i powers, __m128i next) {
  return _mm_xor_si128(_mm_xor_si128(_mm_clmulepi64_si128(a, powers, 0x00), _mm_clmulepi64_si128(a, powers, 0x11)), next);
}

/* The rest of 128 bits by the polynomial: Gopal and others, Fast CRC Computation Using PCLMULQDQ, as are the powers. */
FOLDS uint32_t reduce(__m128i a, __m128i by_16) {
  const __m128i by_8 = _mm_set_epi64x(0, 0x163cd6124), barrett = _mm_set_epi64x(0x1f7011641, 0x1db710641), low = _mm_set_epi32(0, ~0, 0, ~0);
  a = _mm_xor_si128(_mm_srli_si128(a, 8), _mm_clmulepi64_si128(a, by_16, 0x10));
  a = _mm_xor_si128(_mm_srli_si128(a, 4), _mm_clmulepi64_si128(_mm_and_si128(a, low), by_8, 0x00));
  __m128i quotient = _mm_and_si128(_mm_clmulepi64_si128(_mm_and_si128(a, low), barrett, 0x10), low);
  return (uint32_t)_mm_cvtsi128_si32(_mm_srli_si128(_mm_xor_si128(a, _mm_clmulepi64_si128(quotient, barrett, 0x00)), 4));
}

/* Of FOLDED bytes at least, a multiple of 16. */
FOLDS uint32_t add_by_folds(uint32_t crc, const unsigned char *bytes, int64_t n) {
  const __m128i by_64 = _mm_set_epi64x(0x1c6e41596, 0x154442bd4), by_16 = _mm_set_epi64x(0x0ccaa009e, 0x1751997d0);
  __m128i a = _mm_xor_si128(load(bytes), _mm_cvtsi32_si128((int)crc)), b = load(bytes + 16), c = load(bytes + 32), d = load(bytes + 48);
  for (bytes += FOLDED, n -= FOLDED; n >= FOLDED; bytes += FOLDED, n -= FOLDED) {
    a = fold(a, by_64, load(bytes));
    b = fold(b, by_64, load(bytes + 16));
    c = fold(c, by_64, load(bytes + 32));
    d = fold(d, by_64, load(bytes + 48));
  }
  a = fold(fold(fold(a, by_16, b), by_16, c), by_16, d);
  for (; n >= 16; bytes += 16, n -= 16) a = fold(a, by_16, load(bytes));
  return reduce(a, by_16);
}

static int folds;

__attribute__((constructor)) static void ask_processor(void) {
  const char *allowed = getenv("TENSORTAP_SIMD");
  unsigned a, b, c, d;
  folds = !(allowed && atoi(allowed) <= 0) && __get_cpuid(1, &a, &b, &c, &d) && c & bit_PCLMUL;
}

#else

static const int folds = 0;
static uint32_t add_by_folds(uint32_t crc, const unsigned char *bytes, int64_t n) { return add_by_tables(crc, bytes, n); }

#endif

uint32_t crc32_add(uint32_t crc, const unsigned char *bytes, int64_t n) {
  int64_t folded = folds && n >= FOLDED ? n & ~(int64_t)15 : 0;
  crc = ~crc;
  if (folded) crc = add_by_folds(crc, bytes, folded);
  return ~add_by_tables(crc, bytes + folded, n - folded);
}
