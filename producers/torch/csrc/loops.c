#include "loops.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#if defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>
#endif

#if defined(__clang__)
#define UNROLL _Pragma("clang loop unroll(full)")
#else
#define UNROLL _Pragma("GCC unroll 16")
#endif
#define SIGN(INT) ((INT)((uint64_t)1 << (8 * sizeof(INT) - 1)))

/* Odd numbers with many bits, from the digits of pi; part of the digest's definition (tensortap/_stats/digest.py). */
#define PAGE_FACTOR 0x243F6A8885A308D3u
#define PAGE_STEP 0x13198A2E03707345u
typedef uint64_t words __attribute__((vector_size(STRIPE)));
static const words page_start = {
    0xA4093822299F31D0u, 0x082EFA98EC4E6C89u, 0x452821E638D01377u, 0xBE5466CF34E90C6Cu,
    0xC0AC29B7C97C50DDu, 0x3F84D5B5B5470917u, 0x9216D5D98979FB1Bu, 0xD1310BA698DFB5ACu,
};

#if defined(__x86_64__)

#define WIDTH 16
#define TARGET
#define VERSION generic
#define MIN32 _mm_min_ps
#define MAX32 _mm_max_ps
#define MIN64 _mm_min_pd
#define MAX64 _mm_max_pd
#include "width.h"

#define WIDTH 32
#define TARGET __attribute__((target("avx2")))
#define VERSION avx2
#define MIN32 _mm256_min_ps
#define MAX32 _mm256_max_ps
#define MIN64 _mm256_min_pd
#define MAX64 _mm256_max_pd
#include "width.h"

#define WIDTH 64
#define TARGET __attribute__((target("avx512f,avx512dq,avx512bw,avx512vl")))
#define VERSION avx512
#define MIN32 _mm512_min_ps
#define MAX32 _mm512_max_ps
#define MIN64 _mm512_min_pd
#define MAX64 _mm512_max_pd
#include "width.h"

/* Asks the processor, and the system which registers it keeps. Not __builtin_cpu_supports: not every compiler's library, zig's for one,
 * knows the answer in a constructor. */
static int widest(void) {
  const unsigned vectors = 0x06, masked = 0xe6, wide = bit_AVX512F | bit_AVX512DQ | bit_AVX512BW | bit_AVX512VL;
  unsigned a, b, c, d, kept, unused;
  if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & bit_OSXSAVE)) return 0;
  __asm__("xgetbv" : "=a"(kept), "=d"(unused) : "c"(0));
  if (!__get_cpuid_count(7, 0, &a, &b, &c, &d)) return 0;
  if ((kept & masked) == masked && (b & wide) == wide) return 2;
  return (kept & vectors) == vectors && (b & bit_AVX2) ? 1 : 0;
}

static const loops *const versions[] = {&loops0_generic, &loops0_avx2, &loops0_avx512};

#else

#define CHOOSE(a, b, less) ((__typeof__(a))(((__typeof__((a) < (b)))(a) & ((a)less(b))) | ((__typeof__((a) < (b)))(b) & ~((a)less(b)))))
#define WIDTH 16
#define TARGET
#define VERSION generic
#define MIN32(a, b) CHOOSE(a, b, <)
#define MAX32(a, b) CHOOSE(a, b, >)
#define MIN64(a, b) CHOOSE(a, b, <)
#define MAX64(a, b) CHOOSE(a, b, >)
#include "width.h"

static int widest(void) { return 0; }

static const loops *const versions[] = {&loops0_generic};

#endif

const loops *tap_loops = &loops0_generic;
static int version_in_use;

/* So that a build that takes a slow version is noticed. */
int tap_simd(void) { return version_in_use; }

__attribute__((constructor)) static void choose(void) {
  const char *allowed = getenv("TENSORTAP_SIMD");
  int version = widest();
  if (allowed && atoi(allowed) < version) version = atoi(allowed) > 0 ? atoi(allowed) : 0;
  version_in_use = version;
  tap_loops = versions[version];
}
