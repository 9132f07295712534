/* Inner loops, compiled once per width of vectors and per type of numbers. The includer defines
 *   WIDTH   bytes of a vector, TARGET the function attribute that allows it
 *   REAL, INT   float and int32_t, or double and int64_t
 *   MIN, MAX    of two vectors
 *   NAME(x)     the name of x in this version
 * A block is always summed in the same 64 bytes of lanes, whatever the width, so that machines agree bit for bit. */

#define LANES ((int)(64 / sizeof(REAL)))
#define PER_VECTOR ((int)(WIDTH / sizeof(REAL)))
#define VECTORS (64 / WIDTH)

typedef REAL NAME(reals) __attribute__((vector_size(WIDTH)));
typedef INT NAME(ints) __attribute__((vector_size(WIDTH)));

TARGET static inline NAME(reals) NAME(load)(const REAL *x) {
  NAME(reals) v;
  __builtin_memcpy(&v, x, WIDTH);
  return v;
}

TARGET static void NAME(tail)(const REAL *x, int n, REAL centre, INT normal, block_sums *out) {
  for (int i = 0; i < n; i++) {
    REAL apart = x[i] - centre, magnitude = x[i] < 0 ? -x[i] : x[i];
    INT bits;
    memcpy(&bits, x + i, sizeof bits);
    bits &= ~SIGN(INT);
    out->sum += apart;
    out->square += (double)apart * apart;
    out->absolute += magnitude;
    out->zero += bits == 0;
    out->small += bits < normal;
    out->min = x[i] < out->min ? x[i] : out->min;
    out->max = x[i] > out->max ? x[i] : out->max;
  }
}

TARGET static inline uint64_t NAME(total)(const NAME(ints) counts[VECTORS]) {
  INT lanes[LANES], total = 0;
  __builtin_memcpy(lanes, counts, sizeof lanes);
  for (int l = 0; l < LANES; l++) total += lanes[l];
  return (uint64_t)total;
}

/* Sums of a block of finite elements. When one is not finite, absolute is not finite either, and the rest means nothing. */
TARGET static void NAME(sums)(const REAL *x, int n, REAL centre, INT normal, block_sums *out) {
  NAME(reals) sum[VECTORS], square[VECTORS], absolute[VECTORS], low[VECTORS], high[VECTORS];
  NAME(ints) zero[VECTORS], small[VECTORS];
  const NAME(ints) magnitude = (NAME(ints)){0} + ~SIGN(INT), none = {0};
  const NAME(ints) first = none + normal;
  const NAME(reals) middle = (NAME(reals)){0} + centre;
  UNROLL for (int k = 0; k < VECTORS; k++) {
    sum[k] = square[k] = absolute[k] = (NAME(reals)){0};
    low[k] = (NAME(reals)){0} + (REAL)INFINITY;
    high[k] = (NAME(reals)){0} - (REAL)INFINITY;
    zero[k] = small[k] = none;
  }
  int whole = n / LANES * LANES;
  for (int i = 0; i < whole; i += LANES) {
    __builtin_prefetch(x + i + BLOCK); /* the processor's own stops where a page ends, as a block of floats does */
    UNROLL for (int k = 0; k < VECTORS; k++) {
      NAME(reals) v = NAME(load)(x + i + k * PER_VECTOR), apart = v - middle;
      NAME(ints) bits = (NAME(ints))v & magnitude;
      sum[k] += apart;
      square[k] += apart * apart;
      absolute[k] += (NAME(reals))bits;
      low[k] = MIN(v, low[k]);
      high[k] = MAX(v, high[k]);
      zero[k] -= bits == none;
      small[k] -= bits < first;
    }
  }
  REAL least = INFINITY, greatest = -INFINITY; /* chosen without branches, which nobody could predict */
  *out = (block_sums){.zero = NAME(total)(zero), .small = NAME(total)(small)};
  UNROLL for (int k = 0; k < VECTORS; k++) {
    UNROLL for (int l = 0; l < PER_VECTOR; l++) {
      out->sum += sum[k][l];
      out->square += square[k][l];
      out->absolute += absolute[k][l];
      least = low[k][l] < least ? low[k][l] : least;
      greatest = high[k][l] > greatest ? high[k][l] : greatest;
    }
  }
  out->min = least;
  out->max = greatest;
  NAME(tail)(x + whole, n - whole, centre, normal, out);
}

/* Adds whole groups of 16 elements to rows[h & 15][l], which is bucket l ^ (h & 15): so no element changes its lane. */
TARGET static void NAME(groups)(const REAL *x, int groups, uint64_t first, REAL rows[BUCKETS][BUCKETS]) {
  NAME(ints) chosen[BUCKETS / PER_VECTOR];
  const NAME(ints) sign = (NAME(ints)){0} + SIGN(INT);
  UNROLL for (int k = 0; k < BUCKETS / PER_VECTOR; k++) {
    for (int l = 0; l < PER_VECTOR; l++) chosen[k][l] = (INT)(1u << (16 + k * PER_VECTOR + l));
  }
  for (int g = 0; g < groups; g++, x += BUCKETS) {
    uint64_t hash = sketch_hash(first + (uint64_t)g);
    NAME(ints) bits = (NAME(ints)){0} + (INT)(uint32_t)hash;
    REAL *row = rows[hash & 15];
    UNROLL for (int k = 0; k < BUCKETS / PER_VECTOR; k++) {
      NAME(ints) flip = ((bits & chosen[k]) == chosen[k]) & sign;
      NAME(reals) v = (NAME(reals))((NAME(ints))NAME(load)(x + k * PER_VECTOR) ^ flip);
      v += NAME(load)(row + k * PER_VECTOR);
      __builtin_memcpy(row + k * PER_VECTOR, &v, WIDTH);
    }
  }
}

#undef LANES
#undef PER_VECTOR
#undef VECTORS
#undef REAL
#undef INT
#undef MIN
#undef MAX
#undef NAME
