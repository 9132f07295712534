/* Blocks of a tensor's elements, in any layout and of any type, as numbers. */
#ifndef TENSORTAP_READ_ELEMENTS_H
#define TENSORTAP_READ_ELEMENTS_H

#include "part.h"

#define MOST_DIMENSIONS 16
#define WIDEST_ELEMENT 16

/* How elements lie in memory, outermost dimension first; in elements, not bytes. */
typedef struct {
  int64_t dimensions;
  int64_t repeat; /* each element stands for so many equal ones */
  int64_t size[MOST_DIMENSIONS];
  int64_t stride[MOST_DIMENSIONS];
} tap_view;

/* Order of the names in tap_dtypes(). */
typedef enum {
  FLOAT32, FLOAT64, FLOAT16, BFLOAT16, FLOAT8_E4M3FN, FLOAT8_E5M2, FLOAT8_E4M3FNUZ, FLOAT8_E5M2FNUZ, FLOAT8_E8M0FNU,
  BOOL, UINT8, INT8, UINT16, INT16, UINT32, INT32, UINT64, INT64, COMPLEX32, COMPLEX64, COMPLEX128, DTYPES
} dtype;

typedef struct {
  const char *data;
  int64_t count;
  const tap_view *view; /* NULL when elements follow each other */
  dtype type;
} source;

/* A block's elements, twice: as numbers to measure and as numbers to sketch (they differ for complex elements only). */
typedef struct {
  int count;
  int wide;           /* numbers are double, else float */
  const void *bytes;  /* as they are, in row-major order */
  const void *numbers;
  const void *parts;  /* count, or twice as many for complex elements */
  union { float f32[2 * BLOCK]; double f64[2 * BLOCK]; } scratch, magnitudes;
  char raw[BLOCK * WIDEST_ELEMENT];
} block;

int element_bytes(dtype type);
int is_complex(dtype type);
/* Least normal number of the type, as the bits of the float (or double) that blocks of it hold; 1 when there is no such thing. */
int64_t least_normal(dtype type, int wide);
void block_read(block *b, const source *from, int64_t first);

#endif
