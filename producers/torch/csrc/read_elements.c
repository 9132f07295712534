#include "read_elements.h"

#include <math.h>
#include <string.h>

#include "loops.h"

static const int widths[DTYPES] = {4, 8, 2, 2, 1, 1, 1, 1, 1, 1, 1, 1, 2, 2, 4, 4, 8, 8, 4, 8, 16};

int element_bytes(dtype type) { return widths[type]; }

int is_complex(dtype type) { return type >= COMPLEX32; }

static int64_t bits_of(double value, int wide) {
  float narrow = (float)value;
  int32_t low;
  int64_t all;
  memcpy(&low, &narrow, 4);
  memcpy(&all, &value, 8);
  return wide ? all : low;
}

int64_t least_normal(dtype type, int wide) {
  switch (type) {
    case FLOAT32: case BFLOAT16: case COMPLEX64: return bits_of(0x1p-126, wide);
    case FLOAT64: case COMPLEX128: return bits_of(0x1p-1022, wide);
    case FLOAT16: case FLOAT8_E5M2: case COMPLEX32: return bits_of(0x1p-14, wide);
    case FLOAT8_E4M3FN: return bits_of(0x1p-6, wide);
    case FLOAT8_E4M3FNUZ: return bits_of(0x1p-7, wide);
    case FLOAT8_E5M2FNUZ: return bits_of(0x1p-15, wide);
    default: return 1;
  }
}

/* The value of an 8-bit float: its exponent's bias, bits of mantissa, and which codes are no numbers. */
static float eight_bits(uint8_t code, int mantissa, int bias, dtype type) {
  int exponent = (code & 0x7f) >> mantissa, fraction = code & ((1 << mantissa) - 1);
  if (type == FLOAT8_E4M3FN && (code & 0x7f) == 0x7f) return NAN;
  if (type == FLOAT8_E5M2 && exponent == 31) return fraction ? NAN : code & 0x80 ? -INFINITY : INFINITY;
  if ((type == FLOAT8_E4M3FNUZ || type == FLOAT8_E5M2FNUZ) && code == 0x80) return NAN;
  float value = exponent ? ldexpf((float)(fraction + (1 << mantissa)), exponent - bias - mantissa) : ldexpf((float)fraction, 1 - bias - mantissa);
  return code & 0x80 ? -value : value;
}

static float eights[5][256];

__attribute__((constructor)) static void fill_eights(void) {
  for (int code = 0; code < 256; code++) {
    eights[0][code] = eight_bits((uint8_t)code, 3, 7, FLOAT8_E4M3FN);
    eights[1][code] = eight_bits((uint8_t)code, 2, 15, FLOAT8_E5M2);
    eights[2][code] = eight_bits((uint8_t)code, 3, 8, FLOAT8_E4M3FNUZ);
    eights[3][code] = eight_bits((uint8_t)code, 2, 16, FLOAT8_E5M2FNUZ);
    eights[4][code] = code == 255 ? NAN : ldexpf(1, code - 127);
  }
}

#define EACH(FROM, TO) \
  for (int i = 0; i < n; i++) ((TO *)out)[i] = (TO)((const FROM *)raw)[i]; \
  break

/* Numbers that float holds exactly become float, others double. */
static int widen(dtype type, const void *raw, int n, void *out) {
  switch (type) {
    case FLOAT16: case COMPLEX32: tap_loops->half(raw, n, out); break;
    case BFLOAT16: tap_loops->brain(raw, n, out); break;
    case FLOAT8_E4M3FN: case FLOAT8_E5M2: case FLOAT8_E4M3FNUZ: case FLOAT8_E5M2FNUZ: case FLOAT8_E8M0FNU:
      for (int i = 0; i < n; i++) ((float *)out)[i] = eights[type - FLOAT8_E4M3FN][((const uint8_t *)raw)[i]];
      break;
    case BOOL:
      for (int i = 0; i < n; i++) ((float *)out)[i] = ((const uint8_t *)raw)[i] ? 1 : 0;
      break;
    case UINT8: EACH(uint8_t, float);
    case INT8: EACH(int8_t, float);
    case UINT16: EACH(uint16_t, float);
    case INT16: EACH(int16_t, float);
    case UINT32: EACH(uint32_t, double);
    case INT32: EACH(int32_t, double);
    case UINT64: EACH(uint64_t, double);
    case INT64: EACH(int64_t, double);
    default: return -1;
  }
  return type >= UINT32 && type <= INT64;
}

#define COPY(TYPE) \
  for (int64_t i = 0; i < n; i++) ((TYPE *)to)[i] = ((const TYPE *)from)[i * step]; \
  break

typedef struct { uint64_t low, high; } sixteen;

static void copy_run(char *to, const char *from, int64_t n, int64_t step, int width) {
  if (step == 1) {
    memcpy(to, from, (size_t)(n * width));
    return;
  }
  switch (width) {
    case 1: COPY(uint8_t);
    case 2: COPY(uint16_t);
    case 4: COPY(uint32_t);
    case 8: COPY(uint64_t);
    default: COPY(sixteen);
  }
}

/* Copies elements first..first+n of the view, counted in its order. */
static void gather(const source *from, int64_t first, int64_t n, char *to) {
  const tap_view *v = from->view;
  int width = element_bytes(from->type), last = (int)v->dimensions - 1;
  int64_t index[MOST_DIMENSIONS], at = 0;
  for (int d = last; d >= 0; d--) {
    index[d] = first % v->size[d];
    first /= v->size[d];
    at += index[d] * v->stride[d];
  }
  while (n > 0) {
    int64_t run = v->size[last] - index[last] < n ? v->size[last] - index[last] : n;
    copy_run(to, from->data + at * width, run, v->stride[last], width);
    to += run * width;
    n -= run;
    index[last] += run;
    at += run * v->stride[last];
    for (int d = last; d > 0 && index[d] == v->size[d]; d--) {
      at += v->stride[d - 1] - index[d] * v->stride[d];
      index[d] = 0;
      index[d - 1]++;
    }
  }
}

/* Statistics of complex elements are those of their magnitudes, rounded to their own precision; NaN where either part is. */
static void magnitudes(block *b, dtype type) {
  const double *wide = b->parts;
  const float *narrow = b->parts;
  if (type == COMPLEX128) {
    for (int i = 0; i < b->count; i++) {
      double real = wide[2 * i], imaginary = wide[2 * i + 1];
      b->magnitudes.f64[i] = isnan(real) || isnan(imaginary) ? NAN : hypot(real, imaginary);
    }
  } else {
    for (int i = 0; i < b->count; i++) {
      double real = narrow[2 * i], imaginary = narrow[2 * i + 1];
      b->magnitudes.f32[i] = (float)sqrt(real * real + imaginary * imaginary);
    }
  }
  b->numbers = &b->magnitudes;
}

void block_read(block *b, const source *from, int64_t first) {
  int64_t left = from->count - first;
  b->count = left < BLOCK ? (int)left : BLOCK;
  b->bytes = b->raw;
  if (from->view) gather(from, first, b->count, b->raw);
  else b->bytes = from->data + first * element_bytes(from->type);
  int parts = is_complex(from->type) ? 2 * b->count : b->count;
  int wide = widen(from->type, b->bytes, parts, &b->scratch);
  b->parts = wide < 0 ? b->bytes : &b->scratch;
  b->wide = wide < 0 ? from->type == FLOAT64 || from->type == COMPLEX128 : wide;
  b->numbers = b->parts;
  if (is_complex(from->type)) magnitudes(b, from->type);
}
